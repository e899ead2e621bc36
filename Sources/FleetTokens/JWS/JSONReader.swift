// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Reads one JSON text (RFC 8259) under the strict rules of ``JSONValue``.
struct JSONReader {
    /// The number of members from which on repeated keys are looked for in a set.
    private static let longObject = 16

    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The whole text as one value.
    mutating func document() throws(TokenError) -> JSONValue {
        let value = try self.value()
        self.skipSpace()
        guard self.position == self.bytes.count else { throw self.error("text follows the value") }
        return value
    }

    private mutating func value() throws(TokenError) -> JSONValue {
        self.skipSpace()
        switch self.peek {
        case UInt8(ascii: "{"): return try self.nested { reader throws(TokenError) in try reader.object() }
        case UInt8(ascii: "["): return try self.nested { reader throws(TokenError) in try reader.array() }
        case UInt8(ascii: "\""): return .string(try self.string())
        case UInt8(ascii: "t"): return try self.word("true", .bool(true))
        case UInt8(ascii: "f"): return try self.word("false", .bool(false))
        case UInt8(ascii: "n"): return try self.word("null", .null)
        case UInt8(ascii: "-"): return try self.number()
        case .some(UInt8(ascii: "0")...UInt8(ascii: "9")): return try self.number()
        case nil: throw self.error("the text ends where a value should be")
        default: throw self.error("there is no value")
        }
    }

    private mutating func nested(
        _ body: (inout Self) throws(TokenError) -> JSONValue
    ) throws(TokenError) -> JSONValue {
        guard self.depth < JSONValue.maximumDepth else { throw self.error("nesting is too deep") }
        self.depth += 1
        self.position += 1
        let value = try body(&self)
        self.depth -= 1
        return value
    }

    private mutating func object() throws(TokenError) -> JSONValue {
        var members: [JSONObject.Member] = []
        // A payload has six members.
        members.reserveCapacity(6)
        // What is compared in a list takes the square of its length, so longer ones get a set.
        var keys: Set<String> = []
        self.skipSpace()
        if self.take(UInt8(ascii: "}")) { return .object(JSONObject()) }
        repeat {
            self.skipSpace()
            guard self.peek == UInt8(ascii: "\"") else { throw self.error("a key should be here") }
            let key = try self.string()
            self.skipSpace()
            guard self.take(UInt8(ascii: ":")) else { throw self.error("a colon should be here") }
            let value = try self.value()
            if members.count == Self.longObject { keys = Set(members.map(\.key)) }
            let isNew =
                members.count < Self.longObject
                ? !members.contains { $0.key == key } : keys.insert(key).inserted
            guard isNew else { throw self.error("the key \"\(key.shown(upTo: 64))\" stands twice") }
            members.append((key, value))
            self.skipSpace()
        } while self.take(UInt8(ascii: ","))
        guard self.take(UInt8(ascii: "}")) else { throw self.error("the object is not closed") }
        return .object(JSONObject(distinct: members))
    }

    private mutating func array() throws(TokenError) -> JSONValue {
        var elements: [JSONValue] = []
        self.skipSpace()
        if self.take(UInt8(ascii: "]")) { return .array(elements) }
        repeat {
            elements.append(try self.value())
            self.skipSpace()
        } while self.take(UInt8(ascii: ","))
        guard self.take(UInt8(ascii: "]")) else { throw self.error("the array is not closed") }
        return .array(elements)
    }

    private mutating func string() throws(TokenError) -> String {
        self.position += 1
        let start = self.position
        // Most strings hold no escape and are read in one piece; plain ASCII needs no validation either.
        let (end, isASCII) = self.bytes.withUnsafeBytes { PlainText.find(in: $0, from: start) }
        self.position = end
        if self.take(UInt8(ascii: "\"")) {
            if isASCII { return String(decoding: self.bytes[start..<end], as: UTF8.self) }
            return try self.text(of: self.bytes[start..<end])
        }
        var text = Array(self.bytes[start..<end])
        while let byte = self.peek {
            self.position += 1
            switch byte {
            case UInt8(ascii: "\""):
                return try self.text(of: text)
            case UInt8(ascii: "\\"): try self.escape(into: &text)
            case ..<0x20: throw self.error("a control character is not escaped")
            default: text.append(byte)
            }
        }
        throw self.error("a string is not closed")
    }

    /// The text in UTF-8; what is none would be read with other characters than it has.
    private func text(of bytes: some Collection<UInt8>) throws(TokenError) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.utf8.elementsEqual(bytes) else { throw self.error("it is not UTF-8") }
        guard !text.hasEndlessMarks else {
            throw self.error("a text has more than \(String.maximumMarksInARow) combining marks in a row")
        }
        return text
    }

    private mutating func escape(into text: inout [UInt8]) throws(TokenError) {
        guard let byte = self.peek else { throw self.error("a string is not closed") }
        self.position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            var code = try self.hexadecimal()
            if (0xD800..<0xDC00).contains(code) {
                guard self.take(UInt8(ascii: "\\")), self.take(UInt8(ascii: "u")) else {
                    throw self.error("half of a surrogate pair is missing")
                }
                let low = try self.hexadecimal()
                guard (0xDC00..<0xE000).contains(low) else { throw self.error("a surrogate pair is broken") }
                code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(code) else { throw self.error("a surrogate pair is broken") }
            text += Array(String(Character(scalar)).utf8)
        default: throw self.error("an escape is unknown")
        }
    }

    private mutating func hexadecimal() throws(TokenError) -> UInt32 {
        guard self.position + 4 <= self.bytes.count else { throw self.error("an escape is cut off") }
        var code: UInt32 = 0
        for byte in self.bytes[self.position..<self.position + 4] {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw self.error("an escape is not hexadecimal")
            }
            code = code << 4 | UInt32(digit)
        }
        self.position += 4
        return code
    }

    private mutating func number() throws(TokenError) -> JSONValue {
        let start = self.position
        _ = self.take(UInt8(ascii: "-"))
        if !self.take(UInt8(ascii: "0")) {
            guard self.digits() else { throw self.error("a number has no digits") }
        }
        var isInteger = true
        if self.take(UInt8(ascii: ".")) {
            isInteger = false
            guard self.digits() else { throw self.error("a number has no digits") }
        }
        if self.take(UInt8(ascii: "e")) || self.take(UInt8(ascii: "E")) {
            isInteger = false
            if !self.take(UInt8(ascii: "+")) { _ = self.take(UInt8(ascii: "-")) }
            guard self.digits() else { throw self.error("a number has no digits") }
        }
        let text = String(decoding: self.bytes[start..<self.position], as: UTF8.self)
        if isInteger, let number = Int64(text) { return .integer(number) }
        guard let number = Double(text) else { throw self.error("a number cannot be read") }
        return .double(number)
    }

    private mutating func digits() -> Bool {
        let start = self.position
        while let byte = self.peek, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { self.position += 1 }
        return self.position > start
    }

    private mutating func word(_ word: StaticString, _ value: JSONValue) throws(TokenError) -> JSONValue {
        let length = word.utf8CodeUnitCount
        let end = self.position + length
        guard end <= self.bytes.count,
            word.withUTF8Buffer({ $0.elementsEqual(self.bytes[self.position..<end]) })
        else { throw self.error("there is no value") }
        self.position = end
        return value
    }

    private var peek: UInt8? {
        self.position < self.bytes.count ? self.bytes[self.position] : nil
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard self.peek == byte else { return false }
        self.position += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte = self.peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { self.position += 1 }
    }

    private func error(_ problem: String) -> TokenError {
        TokenError(code: .invalidJSON, message: "The JSON text cannot be read: \(problem) (byte \(self.position)).")
    }
}

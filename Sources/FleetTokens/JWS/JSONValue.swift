// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A JSON value, as tokens, key files and key sets hold them.
///
/// Reading is strict where leniency has been used against token verifiers: a repeated key, text after the value,
/// invalid UTF-8, or nesting deeper than ``maximumDepth`` is an error. Writing is deterministic: keys are sorted, `/`
/// is not escaped, and there is no white space, so equal values give equal bytes.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    /// A number written without fraction or exponent that fits.
    case integer(Int64)
    /// Any other number; may be infinite when the text is out of range.
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// Arrays and objects nested deeper than this are refused.
    package static let maximumDepth = 16

    /// Reads one JSON text.
    ///
    /// - Throws: ``TokenError`` with ``TokenError/Code/invalidJSON``.
    package init(parsing bytes: some Collection<UInt8>) throws(TokenError) {
        var reader = JSONReader(Array(bytes))
        self = try reader.document()
    }

    /// The string, or `nil` for another kind of value.
    package var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The integer, or `nil` for another kind of value.
    package var integer: Int64? {
        if case .integer(let number) = self { number } else { nil }
    }

    /// The number, with a fraction or without, or `nil` for another kind of value.
    package var number: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .double(let number): number
        default: nil
        }
    }

    /// The object's members, or `nil` for another kind of value.
    package var object: JSONObject? {
        if case .object(let members) = self { members } else { nil }
    }

    /// The array's elements, or `nil` for another kind of value.
    package var array: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }
}

// MARK: - Writing

extension JSONValue: Encodable {
    /// Writes the value into a larger JSON text.
    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .bool(let value): try value.encode(to: encoder)
        case .integer(let number): try number.encode(to: encoder)
        case .double(let number):
            // As it is written below: JSON has no infinite numbers.
            let written: Double? = number.isFinite ? number : nil
            try written.encode(to: encoder)
        case .string(let text): try text.encode(to: encoder)
        case .array(let elements): try elements.encode(to: encoder)
        case .object(let members):
            try Dictionary(uniqueKeysWithValues: members.map { ($0.key, $0.value) }).encode(to: encoder)
        }
    }
}

extension JSONValue: Decodable {
    /// Reads the value out of a larger JSON text, as strictly as the decoder does: not all notice a repeated key.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let number = try? container.decode(Int64.self) {
            self = .integer(number)
        } else if let number = try? container.decode(Double.self) {
            self = .double(number)
        } else if let text = try? container.decode(String.self) {
            self = .string(text)
        } else if let elements = try? container.decode([JSONValue].self) {
            self = .array(elements)
        } else {
            self = .object(JSONObject(try container.decode([String: JSONValue].self)))
        }
    }
}

extension JSONValue {
    /// The value as UTF-8 JSON.
    package var serialized: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256)
        self.write(to: &bytes)
        return bytes
    }

    private func write(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .integer(let number): bytes += String(number).utf8
        case .double(let number): bytes += (number.isFinite ? String(number) : "null").utf8
        case .string(let text): Self.write(text, to: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                element.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.sorted.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                Self.write(member.key, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private static func write(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        defer { bytes.append(UInt8(ascii: "\"")) }
        // Almost every text is written as it stands.
        let isWritten = text.utf8.withContiguousStorageIfAvailable { text in
            guard PlainText.find(in: UnsafeRawBufferPointer(text), from: 0).end == text.count else { return false }
            bytes.append(contentsOf: text)
            return true
        }
        guard isWritten != true else { return }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): bytes += #"\""#.utf8
            case UInt8(ascii: "\\"): bytes += #"\\"#.utf8
            case 0x08: bytes += #"\b"#.utf8
            case 0x09: bytes += #"\t"#.utf8
            case 0x0A: bytes += #"\n"#.utf8
            case 0x0C: bytes += #"\f"#.utf8
            case 0x0D: bytes += #"\r"#.utf8
            case ..<0x20:
                let hex = String(byte, radix: 16)
                bytes += (#"\u00"# + (hex.count == 1 ? "0" : "") + hex).utf8
            default: bytes.append(byte)
            }
        }
    }
}

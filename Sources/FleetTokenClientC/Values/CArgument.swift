// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import CFleetTokenClient

/// Reads what C passes in; what is missing or malformed becomes an error with the argument's name.
enum CArgument {
    /// The text of an argument.
    static func text(_ pointer: UnsafePointer<CChar>?, _ name: String) throws(CFailure) -> String {
        guard let text = try Self.optionalText(pointer, name) else {
            throw .invalidArgument("\(name) is NULL.")
        }
        return text
    }

    /// The text of an argument that may be left out.
    static func optionalText(_ pointer: UnsafePointer<CChar>?, _ name: String) throws(CFailure) -> String? {
        guard let pointer else { return nil }
        guard let text = String(validatingCString: pointer) else {
            throw .invalidArgument("\(name) is not UTF-8.")
        }
        return text
    }

    /// The header fields of an argument, each of them allowed by HTTP (RFC 9110, section 5).
    static func headers(
        _ pointer: UnsafePointer<fp_header>?, _ count: Int
    ) throws(CFailure) -> [(name: String, value: String)] {
        var headers: [(name: String, value: String)] = []
        for field in try Self.fields(pointer, count) {
            headers.append(try Self.header(field, number: headers.count + 1))
        }
        return headers
    }

    /// The header fields of a server's answer, without those that cannot be read: it may send what nobody here asks for.
    static func readableHeaders(
        _ pointer: UnsafePointer<fp_header>?, _ count: Int
    ) throws(CFailure) -> [(name: String, value: String)] {
        try Self.fields(pointer, count).enumerated().compactMap { index, field in
            try? Self.header(field, number: index + 1)
        }
    }

    private static func fields(
        _ pointer: UnsafePointer<fp_header>?, _ count: Int
    ) throws(CFailure) -> UnsafeBufferPointer<fp_header> {
        guard count >= 0, count <= 1000 else { throw .invalidArgument("At most 1000 header fields are taken.") }
        guard count == 0 || pointer != nil else { throw .invalidArgument("headers is NULL, but its count is not 0.") }
        return UnsafeBufferPointer(start: pointer, count: count)
    }

    private static func header(
        _ field: fp_header, number: Int
    ) throws(CFailure) -> (name: String, value: String) {
        let name = try Self.text(field.name, "The name of header field \(number)")
        let value = try Self.text(field.value, "The value of header field \(number)")
        guard !name.isEmpty, name.utf8.allSatisfy(Self.isTokenCharacter) else {
            throw .invalidArgument("The name of header field \(number) is not one that HTTP allows.")
        }
        guard value.utf8.allSatisfy({ ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }) else {
            throw .invalidArgument("The value of header field \(name) holds a control character.")
        }
        return (name, value)
    }

    private static func isTokenCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}

extension Duration {
    /// The duration cut off to whole milliseconds, and to a million years either way.
    var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = self.components
        let limit: Int64 = 31_600_000_000_000
        return min(max(seconds, -limit), limit) * 1000 + attoseconds / 1_000_000_000_000_000
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A parameter of a statement.
package enum PostgreSQLValue: Sendable {
    /// `NULL`, of whatever type the statement expects.
    case null
    /// A `boolean`.
    case bool(Bool)
    /// A `bigint`.
    case integer(Int64)
    /// A `double precision`.
    case double(Double)
    /// A `text`.
    case text(String)
    /// A `bytea`.
    case bytes([UInt8])
    /// An array of `boolean`.
    case bools([Bool])
    /// An array of `bigint`, some of them `NULL`.
    case integers([Int64?])
    /// An array of `double precision`, some of them `NULL`.
    case doubles([Double?])
    /// An array of `text`, some of them `NULL`.
    case texts([String?])
    /// An array of `bytea`.
    case byteArrays([[UInt8]])
}

extension PostgreSQLValue {
    /// The server's number of the type; 0 lets the server find out.
    var type: UInt32 {
        switch self {
        case .null: 0
        case .bool: ElementType.bool.rawValue
        case .integer: ElementType.integer.rawValue
        case .double: ElementType.double.rawValue
        case .text: ElementType.text.rawValue
        case .bytes: ElementType.bytes.rawValue
        case .bools: 1000
        case .integers: 1016
        case .doubles: 1022
        case .texts: 1009
        case .byteArrays: 1001
        }
    }

    private enum ElementType: UInt32 {
        case bool = 16
        case bytes = 17
        case integer = 20
        case text = 25
        case double = 701
    }

    /// Appends the value in the server's binary form.
    ///
    /// - Returns: Whether there is one; `NULL` has none.
    func encode(into bytes: inout [UInt8]) -> Bool {
        switch self {
        case .null: return false
        case .bool(let value): bytes.append(value ? 1 : 0)
        case .integer(let value): bytes.append(bigEndian: value)
        case .double(let value): bytes.append(bigEndian: value.bitPattern)
        case .text(let value): bytes.append(contentsOf: value.utf8)
        case .bytes(let value): bytes.append(contentsOf: value)
        case .bools(let values): Self.encode(values, .bool, into: &bytes) { $1.append($0 ? 1 : 0) }
        case .integers(let values): Self.encode(values, .integer, into: &bytes) { $1.append(bigEndian: $0) }
        case .doubles(let values): Self.encode(values, .double, into: &bytes) { $1.append(bigEndian: $0.bitPattern) }
        case .texts(let values): Self.encode(values, .text, into: &bytes) { $1.append(contentsOf: $0.utf8) }
        case .byteArrays(let values): Self.encode(values, .bytes, into: &bytes) { $1.append(contentsOf: $0) }
        }
        return true
    }

    /// An array of one dimension: a head, then each element after its length.
    private static func encode<Element>(
        _ values: [Element?], _ type: ElementType, into bytes: inout [UInt8],
        _ encode: (Element, inout [UInt8]) -> Void
    ) {
        bytes.append(bigEndian: Int32(values.isEmpty ? 0 : 1))
        bytes.append(bigEndian: Int32(values.contains { $0 == nil } ? 1 : 0))
        bytes.append(bigEndian: type.rawValue)
        guard !values.isEmpty else { return }
        bytes.append(bigEndian: Int32(clamping: values.count))
        bytes.append(bigEndian: Int32(1))
        for value in values {
            guard let value else {
                bytes.append(bigEndian: Int32(-1))
                continue
            }
            let start = bytes.count
            bytes.append(bigEndian: Int32(0))
            encode(value, &bytes)
            let length = Int32(clamping: bytes.count - start - 4)
            bytes.replace(at: start, bigEndian: length)
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append(bigEndian value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { self.append(contentsOf: $0) }
    }

    fileprivate mutating func replace(at start: Int, bigEndian value: Int32) {
        Swift.withUnsafeBytes(of: value.bigEndian) { bytes in
            for (offset, byte) in bytes.enumerated() { self[start + offset] = byte }
        }
    }
}

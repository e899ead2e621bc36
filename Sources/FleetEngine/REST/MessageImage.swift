// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftProtobuf

/// The fields of a message as bytes, by which messages of one type are compared.
///
/// They are written in one pass, where the binary form takes another for the length of each message within. Two messages
/// have the same bytes if they have the same binary form; texts that are equal but for their bytes do not.
struct MessageImage {
    private var bytes: [UInt8] = []
    /// The fields of the message itself that are left out, and how deep within it what is visited now is.
    private let omitted: [Int]
    private var depth = 0
    private let limit: Int

    private init(omitted: [Int], limit: Int) {
        self.omitted = omitted
        self.limit = limit
    }

    /// What a message has that is not compared here.
    private struct Unknown: Error {}

    /// There are more bytes than are wanted.
    private struct TooLong: Error {}

    /// Takes the image of a message.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - omitted: The numbers of the fields that are left out, which are messages.
    ///   - size: How many bytes are expected.
    ///   - limit: How many bytes are wanted at most.
    /// - Returns: The bytes; `nil` where there are more, and for a message with maps, which have no order.
    static func bytes(
        of message: some Message, leavingOut omitted: [Int] = [], expecting size: Int, atMost limit: Int = .max
    ) -> [UInt8]? {
        var image = Self(omitted: omitted, limit: limit)
        image.bytes.reserveCapacity(size)
        do {
            try message.traverse(visitor: &image)
        } catch {
            return nil
        }
        return image.bytes.count <= limit ? image.bytes : nil
    }

    private mutating func append(_ fieldNumber: Int, _ value: UInt64) {
        withUnsafeBytes(of: (UInt64(bitPattern: Int64(fieldNumber)), value)) { self.bytes.append(contentsOf: $0) }
    }
}

extension MessageImage: Visitor {
    mutating func visitSingularDoubleField(value: Double, fieldNumber: Int) {
        self.append(fieldNumber, value.bitPattern)
    }

    mutating func visitSingularInt64Field(value: Int64, fieldNumber: Int) {
        self.append(fieldNumber, UInt64(bitPattern: value))
    }

    mutating func visitSingularUInt64Field(value: UInt64, fieldNumber: Int) {
        self.append(fieldNumber, value)
    }

    mutating func visitSingularBoolField(value: Bool, fieldNumber: Int) {
        self.append(fieldNumber, value ? 1 : 0)
    }

    mutating func visitSingularEnumField<Value: Enum>(value: Value, fieldNumber: Int) {
        self.append(fieldNumber, UInt64(bitPattern: Int64(value.rawValue)))
    }

    mutating func visitSingularStringField(value: String, fieldNumber: Int) {
        self.append(fieldNumber, UInt64(value.utf8.count))
        self.bytes.append(contentsOf: value.utf8)
    }

    mutating func visitSingularBytesField(value: Data, fieldNumber: Int) {
        self.append(fieldNumber, UInt64(value.count))
        self.bytes.append(contentsOf: value)
    }

    mutating func visitSingularMessageField<Inner: Message>(value: Inner, fieldNumber: Int) throws {
        guard self.depth > 0 || !self.omitted.contains(fieldNumber) else { return }
        guard self.bytes.count <= self.limit else { throw TooLong() }
        self.append(fieldNumber, 0)
        self.depth += 1
        defer { self.depth -= 1 }
        try value.traverse(visitor: &self)
        // No field has the number that ends a message.
        self.append(0, 0)
    }

    mutating func visitUnknown(bytes: Data) {
        self.visitSingularBytesField(value: bytes, fieldNumber: -1)
    }

    mutating func visitMapField<Key, Value: MapValueType>(
        fieldType: _ProtobufMap<Key, Value>.Type, value: _ProtobufMap<Key, Value>.BaseType, fieldNumber: Int
    ) throws { throw Unknown() }

    mutating func visitMapField<Key, Value>(
        fieldType: _ProtobufEnumMap<Key, Value>.Type, value: _ProtobufEnumMap<Key, Value>.BaseType, fieldNumber: Int
    ) throws where Value.RawValue == Int { throw Unknown() }

    mutating func visitMapField<Key, Value>(
        fieldType: _ProtobufMessageMap<Key, Value>.Type, value: _ProtobufMessageMap<Key, Value>.BaseType,
        fieldNumber: Int
    ) throws { throw Unknown() }
}

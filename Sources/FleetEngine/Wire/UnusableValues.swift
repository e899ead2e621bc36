// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import SwiftProtobuf

/// Looks through a message for what can neither be compared in a short time nor be written again, and for fields that the
/// API does not have.
///
/// JSON may name a value of an enumeration by its number, and the library takes numbers of 64 bits there; in the binary
/// form it counts the bytes of their lower 32 bits and writes those of all, so that the length is wrong.
struct UnusableValues: Visitor {
    private enum Found: Error {
        case endlessMarks
        case enumNumber(Int)
    }

    private var hasUnknownFields = false

    /// Refuses a message that has such a value, wherever it stands, and drops the fields that the API does not have: no
    /// rule reads them, and whoever is shown what is stored would get them, too.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    static func refuseOrDrop(in message: inout some Message) throws(EngineError) {
        var visitor = Self()
        do {
            try message.traverse(visitor: &visitor)
        } catch Found.enumNumber(let number) {
            throw .invalidArgument(
                "An enumeration of the request has the number \(number), which is beyond 32 bits; send a value's name.")
        } catch {
            throw .invalidArgument(
                "A text of the request has more than \(String.maximumMarksInARow) combining marks in a row; leave them out."
            )
        }
        guard visitor.hasUnknownFields else { return }
        do {
            message = try Self.withoutUnknownFields(message)
        } catch {
            throw .unexpected
        }
    }

    private static func withoutUnknownFields<M: Message>(_ message: M) throws -> M {
        var options = BinaryDecodingOptions()
        options.discardUnknownFields = true
        return try M(serializedBytes: message.serializedBytes() as [UInt8], options: options)
    }

    func visitSingularStringField(value: String, fieldNumber: Int) throws {
        if value.hasEndlessMarks { throw Found.endlessMarks }
    }

    mutating func visitSingularMessageField<M: Message>(value: M, fieldNumber: Int) throws {
        try value.traverse(visitor: &self)
    }

    mutating func visitMapField<KeyType, ValueType: MapValueType>(
        fieldType: _ProtobufMap<KeyType, ValueType>.Type, value: _ProtobufMap<KeyType, ValueType>.BaseType,
        fieldNumber: Int
    ) throws {
        for (key, value) in value {
            try KeyType.visitSingular(value: key, fieldNumber: 1, with: &self)
            try ValueType.visitSingular(value: value, fieldNumber: 2, with: &self)
        }
    }

    mutating func visitMapField<KeyType, ValueType>(
        fieldType: _ProtobufEnumMap<KeyType, ValueType>.Type, value: _ProtobufEnumMap<KeyType, ValueType>.BaseType,
        fieldNumber: Int
    ) throws where ValueType.RawValue == Int {
        for (key, value) in value {
            try KeyType.visitSingular(value: key, fieldNumber: 1, with: &self)
            try self.visitSingularEnumField(value: value, fieldNumber: 2)
        }
    }

    mutating func visitMapField<KeyType, ValueType>(
        fieldType: _ProtobufMessageMap<KeyType, ValueType>.Type,
        value: _ProtobufMessageMap<KeyType, ValueType>.BaseType, fieldNumber: Int
    ) throws {
        for (key, value) in value {
            try KeyType.visitSingular(value: key, fieldNumber: 1, with: &self)
            try value.traverse(visitor: &self)
        }
    }

    func visitSingularEnumField<Value: Enum>(value: Value, fieldNumber: Int) throws {
        guard Int32(exactly: value.rawValue) != nil else { throw Found.enumNumber(value.rawValue) }
    }

    mutating func visitUnknown(bytes: Data) { self.hasUnknownFields = true }

    // Other numbers and bytes are compared with nothing, or as they are.
    func visitSingularDoubleField(value: Double, fieldNumber: Int) {}
    func visitSingularInt64Field(value: Int64, fieldNumber: Int) {}
    func visitSingularUInt64Field(value: UInt64, fieldNumber: Int) {}
    func visitSingularBoolField(value: Bool, fieldNumber: Int) {}
    func visitSingularBytesField(value: Data, fieldNumber: Int) {}
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import SwiftProtobuf

@testable import FleetEngine

extension FuzzValue {
    /// Whether a time is earlier than another, or a place further south.
    static func < (one: FuzzValue, other: FuzzValue) -> Bool {
        switch (one, other) {
        case (.time(let one), .time(let other)): one.seconds < other.seconds
        case (.real(let one), .real(let other)): one < other
        default: one.member("latitude").flatMap { one in other.member("latitude").map { one < $0 } } ?? false
        }
    }
}

// MARK: - Protocol Buffers

extension FuzzValue {
    /// The fields of a message in the encoding of Protocol Buffers.
    func append(to bytes: inout [UInt8]) {
        guard case .message(let members) = self else { return }
        for (field, value) in members {
            if case .list(let elements) = value {
                for element in elements { element.append(to: &bytes, as: field) }
            } else {
                value.append(to: &bytes, as: field)
            }
        }
    }

    private func append(to bytes: inout [UInt8], as field: FuzzSchema.Field) {
        let key = UInt64(field.number) << 3
        switch self {
        case .text(let text): Self.append(Array(text.utf8), key, to: &bytes)
        case .data(let data): Self.append(data, key, to: &bytes)
        case .real(let number) where field.type == .float:
            Self.append(varint: key | 5, to: &bytes)
            withUnsafeBytes(of: Float(number).bitPattern.littleEndian) { bytes += $0 }
        case .real(let number):
            Self.append(varint: key | 1, to: &bytes)
            withUnsafeBytes(of: number.bitPattern.littleEndian) { bytes += $0 }
        case .integer(let number): Self.append(number, key, to: &bytes)
        case .choice(let number): Self.append(Int64(number), key, to: &bytes)
        case .flag(let flag): Self.append(flag ? 1 : 0, key, to: &bytes)
        case .time(let time):
            var inner: [UInt8] = []
            Self.append(time.seconds, 1 << 3, to: &inner)
            Self.append(Int64(time.nanos), 2 << 3, to: &inner)
            Self.append(inner, key, to: &bytes)
        case .mask(let paths):
            var inner: [UInt8] = []
            for path in paths { Self.append(Array(path.utf8), 1 << 3, to: &inner) }
            Self.append(inner, key, to: &bytes)
        case .wrapped(let value):
            var inner: [UInt8] = []
            value.append(to: &inner, as: Self.onlyField)
            Self.append(inner, key, to: &bytes)
        case .message:
            var inner: [UInt8] = []
            self.append(to: &inner)
            Self.append(inner, key, to: &bytes)
        case .list: break
        }
    }

    /// The field of messages that only wrap a value.
    private static let onlyField = FuzzSchema.Field(
        number: 1, name: "value", jsonName: "value", type: .double, typeName: "", isRepeated: false, isEssential: true,
        isForLater: false)

    static func append(_ inner: [UInt8], _ key: UInt64, to bytes: inout [UInt8]) {
        self.append(varint: key | 2, to: &bytes)
        self.append(varint: UInt64(inner.count), to: &bytes)
        bytes += inner
    }

    private static func append(_ number: Int64, _ key: UInt64, to bytes: inout [UInt8]) {
        self.append(varint: key, to: &bytes)
        self.append(varint: UInt64(bitPattern: number), to: &bytes)
    }

    static func append(varint value: UInt64, to bytes: inout [UInt8]) {
        var value = value
        while value >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
            value >>= 7
        }
        bytes.append(UInt8(value))
    }
}

// MARK: - JSON

extension FuzzValue {
    /// The value as JSON.
    ///
    /// - Parameter field: The field that it is of; `nil` for a whole message.
    /// - Returns: What JSON holds for it.
    func json(as field: FuzzSchema.Field? = nil) -> JSONValue {
        switch self {
        case .text(let text): .string(text)
        case .data(let data): .string(Data(data).base64EncodedString())
        case .real(let number) where !number.isFinite:
            .string(number.isNaN ? "NaN" : number < 0 ? "-Infinity" : "Infinity")
        case .real(let number): .double(number)
        case .integer(let number): number % 3 == 0 ? .string("\(number)") : .integer(number)
        case .choice(let number):
            FuzzSchema.publicAPI.enumerations[field?.typeName ?? ""]?.first { $0.number == number }
                .map { .string($0.name) } ?? .integer(Int64(number))
        case .flag(let flag): .bool(flag)
        case .time(let time): .string(time.json)
        case .mask(let paths): .string(paths.joined(separator: ","))
        case .wrapped(let value): value.json(as: field)
        case .message(let members):
            .object(JSONObject(Dictionary(members.map { ($0.field.jsonName, $0.value.json(as: $0.field)) }) { $1 }))
        case .list(let elements): .array(elements.map { $0.json(as: field) })
        }
    }

    /// The member of a message, where it was drawn.
    func member(_ jsonName: String) -> FuzzValue? {
        guard case .message(let members) = self else { return nil }
        return members.first { $0.field.jsonName == jsonName }?.value
    }
}

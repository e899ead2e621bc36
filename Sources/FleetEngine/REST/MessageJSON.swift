// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import SwiftProtobuf

/// Messages in the JSON of the public API: reads those of requests, saying what is wrong with them, and writes answers.
enum MessageJSON {
    /// Reads a message.
    ///
    /// - Parameters:
    ///   - json: The UTF-8 JSON; nothing at all stands for a message without fields.
    ///   - place: What is read, for the message of an error, such as `The body`.
    /// - Returns: The message.
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`, which names the field where that is not one of the message.
    static func read<Read: Message>(_ json: [UInt8], at place: String) throws(EngineError) -> Read {
        guard !json.isEmpty else { return Read() }
        do {
            return try Read(jsonUTF8Bytes: json.withoutEscapedPairs)
        } catch {
            throw .invalidArgument("\(place) \(self.problem(error, in: json)).", field: self.field(error))
        }
    }

    /// Writes a message.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - hasEnumNumbers: Whether enumerations are written by their numbers rather than their names.
    /// - Returns: The UTF-8 JSON.
    /// - Throws: ``EngineError`` with `INTERNAL`, for a time or duration beyond what JSON can spell.
    static func write(_ message: some Message, withEnumNumbers hasEnumNumbers: Bool) throws(EngineError) -> [UInt8] {
        var options = JSONEncodingOptions()
        options.alwaysPrintEnumsAsInts = hasEnumNumbers
        do {
            return try message.jsonUTF8Bytes(options: options)
        } catch {
            throw self.unwritable
        }
    }

    /// Why a time or duration beyond what JSON can spell is not written.
    static let unwritable = EngineError(
        code: .internalError, reason: "INTERNAL", message: "The answer cannot be written as JSON; use gRPC.")

    /// The field that is at fault; the library tells it of those alone that a message does not have.
    private static func field(_ error: any Error) -> String? {
        guard case .unknownField(let name)? = error as? JSONDecodingError else { return nil }
        return FieldName.snakeCase(name)
    }

    private static func problem(_ error: any Error, in json: [UInt8]) -> String {
        switch error as? JSONDecodingError {
        case .invalidUTF8? where String(validating: json, as: UTF8.self) == nil: "is not UTF-8"
        case .unknownField(let name)?: "has a field \"\(name.prefix(64))\" that its message does not have"
        case .unrecognizedEnumValue?: "has an enumeration value that its field does not have"
        case .messageDepthLimit?: "is nested too deeply"
        // The library takes a number beyond all that it can hold for bytes that are not UTF-8.
        case .numberRange?, .leadingZero?, .malformedNumber?, .invalidUTF8?:
            "has a malformed number or one out of its field's range"
        case .malformedBool?: "has a truth value that is neither true nor false"
        case .malformedTimestamp?: "has a time that is not of the form 2026-01-31T12:00:00Z"
        case .malformedDuration?: "has a duration that is not of the form 60s"
        case .malformedFieldMask?: "has a field mask that is not a list of field names"
        case .illegalNull?: "has a null where a value is needed"
        case .conflictingOneOf?: "sets more than one alternative of a choice"
        default: "is not well-formed JSON of its message"
        }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import SwiftProtobuf

/// The schemas of messages in the JSON of Protocol Buffers, as an OpenAPI 3.1 document holds them.
struct MessageSchemas {
    private let index: ServiceIndex
    /// The schemas of all messages and enumerations that were referred to, by full name.
    private(set) var schemas: JSONObject = [:]

    init(index: ServiceIndex) {
        self.index = index
    }

    /// A reference to the schema of the message of this full name, which is kept with all that it refers to.
    mutating func reference(toMessage name: String) -> JSONValue {
        if self.schemas[name] == nil {
            // Holds the place, so that a message may hold itself.
            self.schemas[name] = .object([:])
            var properties: JSONObject = [:]
            for field in self.index.messages[name]?.field ?? [] {
                properties[field.jsonName] = self.schema(of: field)
            }
            self.schemas[name] = .object([
                "type": .string("object"), "properties": .object(properties), "additionalProperties": .bool(false),
            ])
        }
        return Self.reference(name)
    }

    /// The field of a message that a path of names in JSON leads to.
    func field(_ path: [String], of message: String) -> Google_Protobuf_FieldDescriptorProto? {
        guard let name = path.first,
            let field = self.index.messages[message]?.field.first(where: { $0.jsonName == name })
        else { return nil }
        return path.count == 1 ? field : self.field(Array(path.dropFirst()), of: field.fullTypeName)
    }

    /// The schema of a field's value.
    mutating func schema(of field: Google_Protobuf_FieldDescriptorProto) -> JSONValue {
        let element = self.elementSchema(of: field)
        return field.label == .repeated ? .object(["type": .string("array"), "items": element]) : element
    }

    private mutating func elementSchema(of field: Google_Protobuf_FieldDescriptorProto) -> JSONValue {
        switch field.type {
        case .message, .group:
            Self.wellKnown[field.fullTypeName] ?? self.reference(toMessage: field.fullTypeName)
        case .enum: self.reference(toEnumeration: field.fullTypeName)
        case .double, .float: Self.number
        case .int32, .sint32, .sfixed32: Self.integer
        case .uint32, .fixed32: .object(["type": .string("integer"), "minimum": .integer(0)])
        case .int64, .sint64, .sfixed64, .uint64, .fixed64:
            .object(["type": .string("string"), "pattern": .string("^-?[0-9]+$")])
        case .bool: .object(["type": .string("boolean")])
        case .bytes: .object(["type": .string("string"), "contentEncoding": .string("base64")])
        case .string: Self.text
        }
    }

    /// Names are what the engine writes; values that it has no name for are written as numbers.
    private mutating func reference(toEnumeration name: String) -> JSONValue {
        self.schemas[name] = .object([
            "anyOf": .array([
                .object([
                    "type": .string("string"),
                    "enum": .array((self.index.enumerations[name]?.value ?? []).map { .string($0.name) }),
                ]),
                Self.integer,
            ])
        ])
        return Self.reference(name)
    }

    private static func reference(_ name: String) -> JSONValue {
        .object(["$ref": .string("#/components/schemas/\(name)")])
    }

    private static let text = JSONValue.object(["type": .string("string")])
    private static let integer = JSONValue.object([
        "type": .string("integer"), "minimum": .integer(Int64(Int32.min)), "maximum": .integer(Int64(Int32.max)),
    ])
    private static let number = JSONValue.object([
        "anyOf": .array([
            .object(["type": .string("number")]),
            .object(["enum": .array(["NaN", "Infinity", "-Infinity"].map(JSONValue.string))]),
        ])
    ])
    /// The messages that JSON writes in a form of their own.
    private static let wellKnown: [String: JSONValue] = [
        "google.protobuf.Timestamp": .object(["type": .string("string"), "format": .string("date-time")]),
        "google.protobuf.Duration": .object([
            "type": .string("string"), "pattern": .string("^-?[0-9]+([.][0-9]{1,9})?s$"),
        ]),
        "google.protobuf.FieldMask": text,
        "google.protobuf.BoolValue": .object(["type": .string("boolean")]),
        "google.protobuf.DoubleValue": number,
        "google.protobuf.Int32Value": integer,
        "google.protobuf.StringValue": text,
    ]
}

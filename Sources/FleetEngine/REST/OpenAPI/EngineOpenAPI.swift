// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import HTTPTypes

/// The description of the REST interface in OpenAPI 3.1.
///
/// It is made of what serves the interface: the table of ``HTTPRule`` and the descriptors of the .proto files.
struct EngineOpenAPI {
    /// Where the description is served, to anyone.
    static let path = "/v1/openapi.json"

    /// The description of what the engine serves, as UTF-8 JSON.
    static let served = Self(rules: HTTPRule.all, index: .publicAPI).document.serialized

    /// The description.
    let document: JSONValue

    /// Describes rules.
    ///
    /// - Parameters:
    ///   - rules: What is served.
    ///   - index: The descriptors of the messages of its methods.
    init(rules: [HTTPRule], index: ServiceIndex) {
        var schemas = MessageSchemas(index: index)
        var paths: [String: JSONObject] = [Self.path: ["get": Self.ownOperation]]
        for rule in rules {
            let messages = index.messages(of: rule.method)
            let operation = Self.operation(rule, messages.request, messages.response, &schemas)
            paths[Self.template(of: rule), default: [:]][rule.verb.rawValue.lowercased()] = .object(operation)
        }
        var named = schemas.schemas
        named["Error"] = Self.errorSchema
        self.document = .object([
            "openapi": .string("3.1.0"),
            "info": .object([
                "title": .string("Fleetpass engine"),
                "version": .string("1"),
                "summary": .string("Vehicles, trips and deliveries, in the form of Fleet Engine's REST interface."),
                "license": .object(["name": .string("Apache-2.0"), "identifier": .string("Apache-2.0")]),
            ]),
            "servers": .array([.object(["url": .string("/")])]),
            "security": .array([.object(["fleetToken": .array([])])]),
            "paths": .object(JSONObject(paths.mapValues(JSONValue.object))),
            "components": .object([
                "securitySchemes": .object([
                    "fleetToken": .object([
                        "type": .string("http"), "scheme": .string("bearer"), "bearerFormat": .string("JWT"),
                    ])
                ]),
                "schemas": .object(named),
                "parameters": .object(JSONObject(Self.sharedParameters)),
                "headers": .object(Self.headers),
                "responses": .object(JSONObject(Self.errorResponses)),
            ]),
        ])
    }
}

// MARK: - Operations

extension EngineOpenAPI {
    /// The parameters without which no call that has them succeeds; the .proto files do not tell.
    private static let requiredParameters: Set<String> = [
        "deliveryVehicleId", "taskId", "tripId", "updateMask", "vehicleId",
    ]
    /// The calls that can succeed without a body, though they take one; an update clears what its mask names then.
    private static let optionalBodies: Set<FleetMethod> = [
        .createDeliveryVehicle, .searchTrips, .updateDeliveryVehicle, .updateTask,
    ]

    private static func operation(
        _ rule: HTTPRule, _ request: String, _ response: String, _ schemas: inout MessageSchemas
    ) -> JSONObject {
        let parameters =
            Self.placeholders(of: rule).map(Self.pathParameter)
            + Self.queryParameters(rule.query, [], of: request, &schemas)
            + Self.sharedParameters.keys.sorted().map { Self.reference("parameters/\($0)") }
        var operation: JSONObject = [
            "operationId": .string(rule.method.name),
            "summary": .string(rule.method.rawValue),
            "parameters": .array(parameters),
            "responses": .object(Self.responses(answering: schemas.reference(toMessage: response))),
        ]
        let body: JSONValue? =
            switch rule.body {
            case .none: nil
            case .everything: schemas.reference(toMessage: request)
            case .field(let name): schemas.field([name], of: request).map { schemas.schema(of: $0) }
            }
        if let body {
            operation["requestBody"] = .object([
                "content": Self.json(body), "required": .bool(!Self.optionalBodies.contains(rule.method)),
            ])
        }
        return operation
    }

    /// The path with a name for each id.
    private static func template(of rule: HTTPRule) -> String {
        let pieces = rule.path.split(separator: "*", omittingEmptySubsequences: false)
        let name = Self.placeholders(of: rule).last ?? ""
        return "/v1/providers/{provider}/" + pieces.joined(separator: "{\(name)}")
    }

    /// The names of the ids in the path.
    private static func placeholders(of rule: HTTPRule) -> [String] {
        guard rule.hasID else { return ["provider"] }
        let collection = rule.collection
        return ["provider", collection.hasSuffix("s") ? String(collection.dropLast()) : collection]
    }

    private static func pathParameter(_ name: String) -> JSONValue {
        .object([
            "name": .string(name), "in": .string("path"), "required": .bool(true),
            // What remains of the rules of ids is checked with everything else of a call.
            "schema": .object([
                "type": .string("string"), "minLength": .integer(1), "maxLength": .integer(64),
                "pattern": .string("^[^/:?,#\\x00-\\x1F\\x7F]+$"),
            ]),
        ])
    }

    private static func queryParameters(
        _ fields: [String: QueryField], _ path: [String], of message: String, _ schemas: inout MessageSchemas
    ) -> [JSONValue] {
        var parameters: [JSONValue] = []
        for (name, field) in fields.sorted(by: { $0.key < $1.key }) {
            let path = path + [name]
            if case .message(let inner) = field.kind {
                parameters += self.queryParameters(inner, path, of: message, &schemas)
            } else if let descriptor = schemas.field(path, of: message) {
                let parameter = path.joined(separator: ".")
                parameters.append(
                    .object([
                        "name": .string(parameter), "in": .string("query"),
                        "required": .bool(Self.requiredParameters.contains(parameter)),
                        "schema": schemas.schema(of: descriptor),
                    ]))
            }
        }
        return parameters
    }

    /// The one of Google's system parameters that has an effect, under either name; every call may have it.
    private static let sharedParameters: [String: JSONValue] = [
        "alt": Self.alternative(named: "alt"), "system-alt": Self.alternative(named: "$alt"),
    ]

    private static func alternative(named name: String) -> JSONValue {
        let values = ["json", "json;enum-encoding=int"].map(JSONValue.string)
        return .object([
            "name": .string(name), "in": .string("query"), "required": .bool(false),
            "description": .string(
                "`json;enum-encoding=int` gives the numbers of enumerations in place of their names; any other value changes "
                    + "nothing."),
            "schema": .object(["type": .string("string"), "enum": .array(values)]),
        ])
    }

    private static func reference(_ component: String) -> JSONValue {
        .object(["$ref": .string("#/components/\(component)")])
    }

    private static let ownOperation = JSONValue.object([
        "operationId": .string("Describe"),
        "summary": .string("This description."),
        "security": .array([]),
        "responses": .object([
            "200": .object([
                "description": .string("The description."), "content": Self.json(.object(["type": .string("object")])),
            ])
        ]),
    ])

    private static func json(_ schema: JSONValue) -> JSONValue {
        .object(["application/json": .object(["schema": schema])])
    }
}

// MARK: - Answers

extension EngineOpenAPI {
    /// Every operation has every status, as a script of faults may answer any call with any of them.
    private static func responses(answering schema: JSONValue) -> JSONObject {
        var responses: JSONObject = [
            "200": .object([
                "description": .string("The answer."), "headers": Self.references(toHeaders: Self.remarks),
                "content": Self.json(schema),
            ])
        ]
        for status in Self.errorResponses.keys {
            responses[status] = Self.reference("responses/\(status)")
        }
        return responses
    }

    /// One for each HTTP status of the table of errors, that of a body that is too long, and that of a request that comes
    /// too slowly, which is answered before there is a call.
    private static let errorResponses: [String: JSONValue] = {
        var codes = Dictionary(grouping: EngineError.Code.allCases) { "\($0.status.http)" }
        codes["413"] = [.invalidArgument]
        var responses: [String: JSONValue] = [:]
        for (status, alike) in codes {
            let headers = alike.contains(.unauthenticated) ? [Self.challenge] + Self.remarks : Self.remarks
            responses[status] = .object([
                "description": .string(alike.map(\.rawValue).joined(separator: " or ")),
                "headers": Self.references(toHeaders: headers),
                "content": Self.json(Self.reference("schemas/Error")),
            ])
        }
        responses["408"] = .object([
            "description": .string(
                "The request did not arrive within the time that requests have; the connection ends.")
        ])
        return responses
    }()

    /// What stands beside the answer to a call that departs from the documentation, or that a script of faults struck.
    private static let remarks = [CallRemarks.warningName, CallRemarks.chaosName]
    private static let challenge = "WWW-Authenticate"

    private static let headers: JSONObject = [
        Self.challenge: .object(["schema": .object(["const": .string("Bearer")])]),
        CallRemarks.chaosName: Self.header("The step of a script of faults that struck the call; one field for each."),
        CallRemarks.warningName: Self.header(
            "What departs from the documentation, in the strict profile; one field for each."),
    ]

    private static func header(_ description: String) -> JSONValue {
        .object(["description": .string(description), "schema": .object(["type": .string("string")])])
    }

    private static func references(toHeaders names: [String]) -> JSONValue {
        var headers = JSONObject()
        for name in names { headers[name] = Self.reference("headers/\(name)") }
        return .object(headers)
    }

    /// The envelope that ``RESTAnswer`` writes.
    private static let errorSchema: JSONValue = {
        let text = JSONValue.object(["type": .string("string")])
        let info = Self.closed([
            "@type": .object(["const": .string("type.googleapis.com/google.rpc.ErrorInfo")]),
            "reason": .object(["type": .string("string"), "pattern": .string("^[A-Z][A-Z_]*$")]),
            "domain": .object(["const": .string(EngineError.domain)]),
            "metadata": .object(["type": .string("object"), "additionalProperties": text]),
        ])
        return Self.closed([
            "error": Self.closed([
                "code": .object(["type": .string("integer")]),
                "message": text,
                "status": .object(["enum": .array(EngineError.Code.allCases.map { .string($0.rawValue) })]),
                "details": .object(["type": .string("array"), "items": info]),
            ])
        ])
    }()

    /// An object with all of these properties and no others.
    private static func closed(_ properties: JSONObject) -> JSONValue {
        .object([
            "type": .string("object"), "properties": .object(properties), "additionalProperties": .bool(false),
            "required": .array(properties.map(\.key).sorted().map(JSONValue.string)),
        ])
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import SwiftProtobuf
import Testing

@testable import FleetEngine

/// What `/v1/openapi.json` says is what is served.
@Suite struct EngineOpenAPITests {
    private static let document = EngineOpenAPI(rules: HTTPRule.all, index: .publicAPI).document

    private static func member(_ path: String...) -> JSONValue? {
        path.reduce(Optional(Self.document)) { $0?.object?[$1] }
    }

    /// Every operation, by its id, with its path and verb.
    private static func operations() throws -> [String: (path: String, verb: String, object: JSONObject)] {
        let paths = try #require(Self.member("paths")?.object)
        return Dictionary(
            uniqueKeysWithValues: try paths.flatMap { path, item in
                try #require(item.object).map { verb, operation in
                    let object = try #require(operation.object)
                    return (try #require(object["operationId"]?.string), (path, verb, object))
                }
            })
    }

    @Test func `every row of the table is an operation whose path leads to the row`() throws {
        let operations = try Self.operations()
        #expect(Set(operations.keys) == Set(HTTPRule.all.map(\.method.name)).union(["Describe"]))
        for rule in HTTPRule.all {
            let operation = try #require(operations[rule.method.name])
            #expect(operation.verb == rule.verb.rawValue.lowercased())
            let match = try HTTPMatch(verb: rule.verb, path: operation.path.replacing(#/{[A-Za-z]+}/#, with: "a-1"))
            #expect(match.rule.method == rule.method)
        }
    }

    /// The parameters that a query may have, with a dot before a field of a message.
    private static func names(_ fields: [String: QueryField]) -> [String] {
        fields.flatMap { name, field in
            if case .message(let inner) = field.kind { self.names(inner).map { "\(name).\($0)" } } else { [name] }
        }
    }

    @Test func `every parameter that the table binds is of a field of its message`() throws {
        let operations = try Self.operations()
        for rule in HTTPRule.all {
            let parameters = try #require(operations[rule.method.name]?.object["parameters"]?.array).compactMap(
                \.object)
            let query = parameters.filter { $0["in"] == .string("query") }
            #expect(query.compactMap { $0["name"]?.string }.sorted() == Self.names(rule.query).sorted())
            #expect(parameters.allSatisfy { $0["schema"] != nil || $0["$ref"] != nil })
            #expect(
                parameters.compactMap { $0["$ref"]?.string }
                    == ["#/components/parameters/alt", "#/components/parameters/system-alt"])
            let body = operations[rule.method.name]?.object["requestBody"]
            if case .none = rule.body { #expect(body == nil) } else { #expect(body != nil) }
        }
    }

    @Test func `every field of every message that is sent has a schema`() throws {
        let schemas = try #require(Self.member("components", "schemas")?.object)
        for rule in HTTPRule.all {
            let types = ServiceIndex.publicAPI.messages(of: rule.method)
            let message = try #require(ServiceIndex.publicAPI.messages[types.response])
            let properties = try #require(schemas[types.response]?.object?["properties"]?.object)
            #expect(Set(properties.keys) == Set(message.field.map(\.jsonName)), "\(types.response)")
        }
        #expect(schemas["maps.fleetengine.v1.LatLng"] == nil)
        #expect(schemas["google.type.LatLng"]?.object?["properties"]?.object?.keys.count == 2)
    }

    @Test func `every reference leads somewhere`() throws {
        var references: Set<String> = []
        func collect(_ value: JSONValue) {
            if let reference = value.object?["$ref"]?.string { references.insert(reference) }
            for (_, member) in value.object ?? [:] { collect(member) }
            for element in value.array ?? [] { collect(element) }
        }
        collect(Self.document)
        #expect(references.count > 50)
        for reference in references {
            let path = reference.split(separator: "/").dropFirst().map(String.init)
            let target = path.reduce(Optional(Self.document)) { $0?.object?[$1] }
            #expect(target != nil, "\(reference)")
        }
    }

    @Test func `every status of the table of errors is documented`() throws {
        let responses = try #require(Self.member("components", "responses")?.object)
        let codes = Set(EngineError.Code.allCases.map { "\($0.status.http)" })
        #expect(Set(responses.keys) == codes.union(["408", "413"]))
        let operations = try Self.operations()
        for (name, operation) in operations where name != "Describe" {
            let statuses = Set(try #require(operation.object["responses"]?.object).keys)
            #expect(statuses == codes.union(["200", "408", "413"]), "\(name)")
        }
    }

    @Test func `the header fields of an answer that are the engine's own are documented`() throws {
        let remarks = ["x-fleetpass-chaos", "x-fleetpass-warning"]
        for (name, operation) in try Self.operations() where name != "Describe" {
            let answer = operation.object["responses"]?.object?["200"]?.object
            #expect(answer?["headers"]?.object?.keys.sorted() == remarks, "\(name)")
        }
        let responses = try #require(Self.member("components", "responses")?.object)
        for (status, response) in responses where status != "408" {
            let expected = status == "401" ? ["WWW-Authenticate"] + remarks : remarks
            #expect(response.object?["headers"]?.object?.keys.sorted() == expected, "\(status)")
        }
        let refusal = RESTAnswer.error(EngineError(TokenRefusal.missing))
        let header = Self.member("components", "headers", "WWW-Authenticate", "schema", "const")?.string
        #expect(header == refusal.headers[.wwwAuthenticate])
        for name in remarks { #expect(Self.member("components", "headers", name) != nil, "\(name)") }
    }

    @Test func `the parameter that every call may have does what it says`() throws {
        for key in ["alt", "system-alt"] {
            let parameter = try #require(Self.member("components", "parameters", key)?.object)
            let name = try #require(parameter["name"]?.string)
            let values = try #require(parameter["schema"]?.object?["enum"]?.array).compactMap(\.string)
            let wantsNumbers = try values.map { try HTTPQuery("\(name)=\($0)", allowed: [:]).wantsEnumNumbers }
            #expect(wantsNumbers == [false, true])
        }
    }

    /// What a call that succeeds has beside its path.
    private struct Input {
        var query: [String: String] = [:]
        var body: (any Message)?
    }

    private static func input(of method: FleetMethod) -> Input {
        switch method {
        case .createVehicle: Input(query: ["vehicleId": "veh-2"], body: Vehicle.sample)
        case .updateVehicle:
            Input(query: ["updateMask": "maximumCapacity"], body: Vehicle.with { $0.maximumCapacity = 5 })
        case .updateVehicleAttributes:
            Input(body: UpdateVehicleAttributes.Request.with { $0.attributes = [.with { $0.key = "class" }] })
        case .searchVehicles: Input(body: VehicleSearchTests.request())
        case .createTrip: Input(query: ["tripId": "trip-2"], body: Trip.sample)
        case .updateTrip:
            Input(query: ["updateMask": "dropoffPoint"], body: Trip.with { $0.dropoffPoint = .at(37.5, -122.1) })
        case .reportBillableTrip: Input(body: ReportBillableTrip.Request.with { $0.countryCode = "DE" })
        case .createDeliveryVehicle: Input(query: ["deliveryVehicleId": "dv-2"])
        case .createTask: Input(query: ["taskId": "task-2"], body: DeliveryWorld.creation(of: "task-2").task)
        case .batchCreateTasks:
            Input(body: BatchCreateTasks.Request.with { $0.requests = [DeliveryWorld.creation(of: "task-2")] })
        case .updateDeliveryVehicle, .updateTask: Input(query: ["updateMask": "attributes"])
        default: Input()
        }
    }

    /// How a call is answered by an engine that holds one resource of each kind.
    private static func status(
        of rule: HTTPRule, at path: String, query: [String: String], body: [UInt8]?
    ) async throws -> Int {
        let store = MemoryStore()
        let fixture = EngineFixture(store: store)
        try await fixture.createVehicle("veh-1")
        try await fixture.createTrip("trip-1")
        let deliveries = DeliveryWorld(store: store)
        try await deliveries.createVehicle("dv-1")
        try await deliveries.createTask("task-1", tracking: "shp-1")
        let router = Router()
        EngineRoutes(engine: fixture.engine).add(to: router)
        let parameters = query.map { "\($0)=\($1)" }.joined(separator: "&")
        let uri = parameters.isEmpty ? path : "\(path)?\(parameters)"
        let token = rule.method.isDelivery ? "delivery_admin" : "ondemand_admin"
        return try await Application(router: router).test(.router) { client in
            let answer = try await client.execute(
                uri: uri, method: rule.verb, headers: [.authorization: "Bearer \(token)"],
                body: body.map { ByteBuffer(bytes: $0) })
            return answer.status.code
        }
    }

    @Test func `a call needs all that is marked as required, and no more`() async throws {
        let ids = [
            "provider": "acme", "vehicle": "veh-1", "trip": "trip-1", "billableTrip": "trip-1",
            "deliveryVehicle": "dv-1", "task": "task-1", "taskTrackingInfo": "shp-1",
        ]
        let operations = try Self.operations()
        for rule in HTTPRule.all {
            let name = rule.method.name
            let operation = try #require(operations[name])
            let path = ids.reduce(operation.path) { $0.replacing("{\($1.key)}", with: $1.value) }
            let parameters = try #require(operation.object["parameters"]?.array).compactMap(\.object)
            let required = parameters.filter { $0["in"] == .string("query") && $0["required"] == .bool(true) }
                .compactMap { $0["name"]?.string }
            let needsBody = operation.object["requestBody"]?.object?["required"] == .bool(true)
            let input = Self.input(of: rule.method)
            let query = input.query.filter { required.contains($0.key) }
            let given = try input.body.map { try $0.jsonUTF8Bytes() as [UInt8] }
            let body = needsBody ? given : nil
            #expect(try await Self.status(of: rule, at: path, query: query, body: body) == 200, "\(name)")
            for parameter in required {
                let rest = query.filter { $0.key != parameter }
                let status = try await Self.status(of: rule, at: path, query: rest, body: body)
                #expect(status == 400, "\(name) without \(parameter)")
            }
            if needsBody {
                let status = try await Self.status(of: rule, at: path, query: query, body: nil)
                #expect(status == 400, "\(name) without a body")
            }
        }
    }

    @Test func `it is served to anyone`() async throws {
        let router = Router()
        EngineRoutes(engine: EngineFixture().engine).add(to: router)
        try await Application(router: router).test(.router) { client in
            let answer = try await client.execute(uri: "/v1/openapi.json", method: .get)
            #expect(answer.status == .ok)
            #expect(Array(answer.body.readableBytesView) == Self.document.serialized)
            let head = try await client.execute(uri: "/v1/openapi.json", method: .head)
            #expect(head.headers == answer.headers && head.body.readableBytes == 0)
            let other = try await client.execute(uri: "/v1/openapi.json", method: .post)
            #expect(other.status == .notFound)
        }
    }
}

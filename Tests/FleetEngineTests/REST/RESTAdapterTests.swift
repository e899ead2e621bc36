// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetOperation
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import SwiftProtobuf
import Testing

@testable import FleetEngine
@testable import FleetTokens

@Suite(.timeLimit(.minutes(10))) struct RESTAdapterTests {
    private static let path = "/v1/providers/acme/vehicles"
    private static let body = """
        {"vehicleState":"ONLINE","supportedTripTypes":["EXCLUSIVE"],"maximumCapacity":4,\
        "vehicleType":{"category":"AUTO"}}
        """

    /// Runs the body against an engine that holds the vehicle `veh-1`.
    private func withClient(_ body: @escaping @Sendable (any TestClientProtocol) async throws -> Void) async throws {
        let router = Router()
        EngineRoutes(engine: Engine(store: MemoryStore(), verifier: TextVerifier())).add(to: router)
        router.get("/") { _, _ in "a page" }
        try await Application(router: router).test(.router) { client in
            let created = try await Self.send(client, .post, Self.path + "?vehicleId=veh-1", Self.body)
            #expect(created.status == .ok)
            try await body(client)
        }
    }

    @discardableResult
    private static func send(
        _ client: any TestClientProtocol, _ verb: HTTPRequest.Method, _ uri: String, _ body: String = "",
        authorization: String? = "Bearer \(serverToken)", meaning meant: [String] = []
    ) async throws -> TestResponse {
        var headers = HTTPFields()
        headers[.authorization] = authorization
        let verbHeader = try #require(HTTPField.Name("X-HTTP-Method-Override"))
        headers[values: verbHeader] = meant
        return try await client.execute(
            uri: uri, method: verb, headers: headers, body: body.isEmpty ? nil : ByteBuffer(string: body))
    }

    private static func object(_ response: TestResponse) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: Data(response.body.readableBytesView)) as? [String: Any])
    }

    private static func message(_ response: TestResponse) throws -> String? {
        try (Self.object(response)["error"] as? [String: Any])?["message"] as? String
    }

    @Test func `a responder beside a router answers as the routes in one do`() async throws {
        let requests: [(HTTPRequest.Method, String)] = [
            (.get, "\(Self.path)/veh-1"), (.get, "\(Self.path)/veh-2"), (.get, Self.path), (.options, Self.path),
            (.head, "\(Self.path)/veh-1"), (.get, "/v1"), (.get, "/v1/"), (.get, "/v1/providers"), (.get, "/v1/other"),
            (.get, "//v1//providers/acme/vehicles"), (.get, "/v1/openapi.json"), (.get, "/"), (.get, "/other"),
        ]
        try await self.withClient { client in
            var answers: [TestResponse] = []
            for (verb, path) in requests { answers.append(try await Self.send(client, verb, path)) }
            let expected = answers
            #expect(Set(expected.map(\.status)) == [.ok, .notFound])
            let router = Router()
            router.get("/") { _, _ in "a page" }
            let routes = EngineRoutes(engine: Engine(store: MemoryStore(), verifier: TextVerifier()))
            try await Application(responder: routes.responder(beside: router)).test(.router) { client in
                let created = try await Self.send(client, .post, Self.path + "?vehicleId=veh-1", Self.body)
                #expect(created.status == .ok)
                for ((verb, path), answer) in zip(requests, expected) {
                    let other = try await Self.send(client, verb, path)
                    #expect(other.status == answer.status, "\(verb) \(path)")
                    #expect(other.headers == answer.headers, "\(verb) \(path)")
                    #expect(other.body == answer.body, "\(verb) \(path)")
                }
            }
        }
    }

    /// How an engine that pages of one origin may call answers a request, and what a browser reads of that.
    private static func answer(
        _ verb: HTTPRequest.Method, _ path: String, from origin: String?, beside isBeside: Bool,
        authorization: String? = "Bearer \(serverToken)", asking: [HTTPField.Name: String] = [:]
    ) async throws -> TestResponse {
        let routes = EngineRoutes(
            engine: Engine(store: MemoryStore(), verifier: TextVerifier()),
            origins: try AllowedOrigins(["https://app.example"], permission: EngineRoutes.ofPages))
        let router = Router()
        router.get("/page") { _, _ in "a page" }
        if !isBeside { routes.add(to: router) }
        let responder: any HTTPResponder<BasicRequestContext> =
            isBeside ? routes.responder(beside: router) : router.buildResponder()
        var headers = HTTPFields()
        headers[.origin] = origin
        headers[.authorization] = authorization
        for (name, value) in asking { headers[name] = value }
        return try await Self.answer(of: responder, verb, path, headers)
    }

    private static func answer(
        of responder: some HTTPResponder<BasicRequestContext>, _ verb: HTTPRequest.Method, _ path: String,
        _ headers: HTTPFields
    ) async throws -> TestResponse {
        try await Application(responder: responder).test(.router) { client in
            try await client.execute(uri: path, method: verb, headers: headers)
        }
    }

    @Test(arguments: [true, false])
    func `pages of a listed origin may call and read what is answered, refusals too`(isBeside: Bool) async throws {
        let origin = "https://app.example"
        let asking: [HTTPField.Name: String] = [
            .accessControlRequestMethod: "PUT", .accessControlRequestHeaders: "authorization, x-goog-fieldmask",
        ]
        let preflight = try await Self.answer(
            .options, Self.path + "/veh-1", from: origin, beside: isBeside, authorization: nil, asking: asking)
        #expect(preflight.status == .noContent)
        #expect(preflight.headers[.accessControlAllowOrigin] == origin)
        #expect(preflight.headers[.accessControlAllowMethods] == "DELETE, GET, PATCH, POST, PUT")
        #expect(preflight.headers[.accessControlAllowHeaders] == "authorization, x-goog-fieldmask")
        for (authorization, status) in [("Bearer \(serverToken)", HTTPResponse.Status.notFound), (nil, .unauthorized)] {
            let answer = try await Self.answer(
                .get, Self.path + "/veh-1", from: origin, beside: isBeside, authorization: authorization)
            #expect(answer.status == status)
            #expect(answer.headers[.accessControlAllowOrigin] == origin)
            #expect(answer.headers[.accessControlAllowCredentials] == nil)
            #expect(answer.headers[.vary]?.contains("Origin") == true)
        }
        // What is no call is for no page of another origin.
        let page = try await Self.answer(.get, "/page", from: origin, beside: isBeside)
        #expect(page.status == .ok && page.headers[.accessControlAllowOrigin] == nil)
    }

    @Test(arguments: [true, false])
    func `pages of any other origin get no permission, and no preflight`(isBeside: Bool) async throws {
        let preflight = try await Self.answer(
            .options, Self.path + "/veh-1", from: "https://evil.example", beside: isBeside, authorization: nil,
            asking: [.accessControlRequestMethod: "GET"])
        #expect(preflight.status == .forbidden)
        for origin in ["https://evil.example", nil] {
            let answer = try await Self.answer(.get, Self.path + "/veh-1", from: origin, beside: isBeside)
            #expect(answer.status == .notFound)
            #expect(answer.headers[.accessControlAllowOrigin] == nil)
        }
    }

    @Test(arguments: ["2147483648", "3000000000", "9223372036854775807", "-2147483649", "-3000000000"])
    func `an enumeration's number beyond 32 bits is refused, wherever it stands`(number: String) async throws {
        let places: [(verb: HTTPRequest.Method, uri: String, body: String)] = [
            (.put, "vehicles/veh-1?updateMask=lastLocation", #"{"lastLocation":{"locationSensor":\#(number)}}"#),
            (.put, "vehicles/veh-1?updateMask=lastLocation", #"{"lastLocation":{"rawLocationSensor":3e9}}"#),
            (.put, "vehicles/veh-1?updateMask=supportedTripTypes", #"{"supportedTripTypes":[2,\#(number)]}"#),
            // What the mask does not name is read too.
            (.put, "vehicles/veh-1?updateMask=attributes", #"{"vehicleType":{"category":\#(number)}}"#),
            (.post, "tasks:batchCreate", #"{"requests":[{"taskId":"a","task":{"type":\#(number)}}]}"#),
            (.get, "trips/trip-1?view=\(number)", ""),
        ]
        try await self.withClient { client in
            for (verb, uri, body) in places {
                let token = uri.hasPrefix("tasks") ? "delivery_server|taskids=*" : serverToken
                let response = try await Self.send(
                    client, verb, "/v1/providers/acme/\(uri)", body, authorization: "Bearer \(token)")
                #expect(response.status == .badRequest, "\(uri) \(body)")
                #expect(try Self.message(response)?.contains("is beyond 32 bits") == true, "\(uri) \(body)")
            }
            #expect(try await Self.send(client, .get, Self.path + "/veh-1").status == .ok)
        }
    }

    @Test(arguments: [Int32.min, -1, 77, Int32.max])
    func `an enumeration's number that is not known is kept`(number: Int32) async throws {
        try await self.withClient { client in
            for verb in [HTTPRequest.Method.put, .get] {
                let response = try await Self.send(
                    client, verb, Self.path + "/veh-1" + (verb == .put ? "?updateMask=lastLocation" : ""),
                    verb == .put ? #"{"lastLocation":{"locationSensor":\#(number)}}"# : "")
                let location = try Self.object(response)["lastLocation"] as? [String: Any]
                #expect(location?["locationSensor"] as? Int == Int(number))
            }
        }
    }

    @Test func `an answer is JSON that nobody keeps`() async throws {
        try await self.withClient { client in
            let response = try await Self.send(client, .get, Self.path + "/veh-1")
            #expect(response.status == .ok)
            #expect(response.headers[.contentType] == "application/json; charset=UTF-8")
            #expect(response.headers[.cacheControl] == "no-store")
            let vehicle = try Self.object(response)
            #expect(vehicle["name"] as? String == "providers/acme/vehicles/veh-1")
            #expect(vehicle["vehicleState"] as? String == "ONLINE")
            #expect(vehicle["backToBackEnabled"] == nil)
        }
    }

    @Test func `an error has the envelope of the public API`() async throws {
        try await self.withClient { client in
            let response = try await Self.send(client, .get, Self.path + "/none")
            #expect(response.status == .notFound)
            #expect(response.headers[.contentType] == "application/json; charset=UTF-8")
            let error = try #require(Self.object(response)["error"] as? [String: Any])
            #expect(error["code"] as? Int == 404)
            #expect(error["status"] as? String == "NOT_FOUND")
            #expect((error["message"] as? String)?.contains("providers/acme/vehicles/none") == true)
            let info = try #require((error["details"] as? [[String: Any]])?.first)
            #expect(info["@type"] as? String == "type.googleapis.com/google.rpc.ErrorInfo")
            #expect(info["reason"] as? String == "RESOURCE_NOT_FOUND")
            #expect(info["domain"] as? String == "fleetengine.googleapis.com")
            #expect(info["metadata"] as? [String: String] == ["resource": "providers/acme/vehicles/none"])
        }
    }

    @Test func `a token that is withdrawn while the body arrives changes nothing`() async throws {
        /// Takes each token once.
        final class OnceVerifier: TokenVerifying {
            private let looks = Locked(0)

            func verify(_ token: String, at now: Date) throws(TokenRefusal) -> ExaminedToken {
                let isFirst = self.looks.withLock { looks in
                    looks += 1
                    return looks == 1
                }
                guard isFirst else { throw .unauthenticated(.tokenRevoked, "It was withdrawn.", fix: "Fetch another.") }
                return try TextVerifier().verify(token, at: now)
            }
        }
        for (verb, uri, seconds, status) in [
            (.post, Self.path + "?vehicleId=veh-2", 0.06, .unauthorized),
            // A body that is there at once leaves no time for it, but for a clock that is set back.
            (.post, Self.path + "?vehicleId=veh-2", 0.0, .ok),
            (.post, Self.path + "?vehicleId=veh-2", -1, .unauthorized),
            (.get, Self.path + "/veh-2", 0.0, .notFound),
        ] as [(HTTPRequest.Method, String, TimeInterval, HTTPResponse.Status)] {
            let router = Router()
            let time = Locked(TestClock.start)
            // Each look at the clock finds it so much later.
            let engine = Engine(store: MemoryStore(), verifier: OnceVerifier()) {
                time.withLock { time in
                    defer { time += seconds }
                    return time
                }
            }
            EngineRoutes(engine: engine).add(to: router)
            try await Application(router: router).test(.router) { client in
                let answer = try await Self.send(client, verb, uri, verb == .post ? Self.body : "")
                #expect(answer.status == status)
            }
        }
    }

    @Test func `nobody is told what is wrong with an id before who asks is known`() async throws {
        try await self.withClient { client in
            for id in ["a%2Fb", "%ff"] {
                let stranger = try await Self.send(client, .get, "\(Self.path)/\(id)", authorization: nil)
                #expect(stranger.status == .unauthorized)
                let known = try await Self.send(client, .get, "\(Self.path)/\(id)")
                #expect(known.status == .badRequest)
            }
        }
    }

    private static let unreadable: [(HTTPRequest.Method, String, String, Int)] = [
        (.post, "/trips?tripId=t-2", "consumer|tripid=t-1", 403),
        (.post, "/trips?wheels=4", "consumer|tripid=t-1", 403),
        (.put, "/vehicles/veh-2?updateMask=vehicleState", "driver|vehicleid=veh-1", 403),
        (.put, "/vehicles/veh-1?updateMask=vehicleType", "driver|vehicleid=veh-1", 403),
        (.put, "/vehicles/veh-1?updateMask=vehicleState", "driver|vehicleid=veh-1", 400),
        // A trip in the body is what its claim would be for.
        (.post, "/vehicles:search", "consumer|tripid=t-1", 400),
        // Whose trip it is, only the store tells.
        (.put, "/trips/t-1?updateMask=dropoffPoint", "driver|vehicleid=veh-1", 400),
    ]

    @Test(arguments: Self.unreadable)
    func `who may not make a call is told so, and not how to write it`(
        verb: HTTPRequest.Method, path: String, token: String, status: Int
    ) async throws {
        try await self.withClient { client in
            let answer = try await Self.send(
                client, verb, "/v1/providers/acme\(path)", #"{"wheels":4}"#, authorization: "Bearer \(token)")
            #expect(answer.status.code == status, "\(String(buffer: answer.body))")
            #expect(answer.headers[.wwwAuthenticate] == nil)
        }
    }

    @Test func `a caller without a token is told the scheme, whatever it sent`() async throws {
        try await self.withClient { client in
            for (uri, body) in [("/veh-1", "{}"), ("/veh-1?updateMask=vehicleState", "{not json")] {
                let response = try await Self.send(client, .put, Self.path + uri, body, authorization: nil)
                #expect(response.status == .unauthorized)
                #expect(response.headers[.wwwAuthenticate] == "Bearer")
            }
        }
    }

    @Test func `two authorization headers are refused`() async throws {
        try await self.withClient { client in
            var headers = HTTPFields()
            for _ in 0..<2 { headers.append(HTTPField(name: .authorization, value: "Bearer \(serverToken)")) }
            let response = try await client.execute(uri: Self.path + "/veh-1", method: .get, headers: headers)
            #expect(response.status == .unauthorized)
        }
    }

    @Test(arguments: [
        #"{"vehicleState":"OFFLINE"}"#, #"{"vehicle_state":"OFFLINE"}"#, #"{"vehicleState":1}"#,
        #"{"vehicleState":"OFFLINE","maximumCapacity":"7","lastLocation":null}"#,
    ])
    func `a body may use either spelling, names or numbers`(body: String) async throws {
        try await self.withClient { client in
            let response = try await Self.send(
                client, .put, Self.path + "/veh-1?updateMask=vehicleState&header.regionCode=US", body)
            #expect(try Self.object(response)["vehicleState"] as? String == "OFFLINE")
        }
    }

    @Test func `a client may ask for the numbers of enumerations`() async throws {
        try await self.withClient { client in
            let response = try await Self.send(
                client, .get, Self.path + "/veh-1?%24alt=json%3Benum-encoding%3Dint")
            let vehicle = try Self.object(response)
            #expect(vehicle["vehicleState"] as? Int == 2)
            #expect(vehicle["supportedTripTypes"] as? [Int] == [2])
        }
    }

    @Test(arguments: [
        "{", "[]", "null", "\"text\"", "{\"vehicleState\":\"ONLINE\"} x", "{\"vehicleState\":\"FLYING\"}",
        "{\"wheels\":4}", "{\"lastLocation\":{\"wheels\":4}}", "{\"maximumCapacity\":1e300}",
        "{\"lastLocation\":{\"updateTime\":\"yesterday\"}}", "{\"name\":\"\u{FFFE}", "{\"maximumCapacity\":\"x\"}",
        String(repeating: "[", count: 45_000), "{\"vehicle\":" + String(repeating: "{\"a\":", count: 45_000),
        "{\"attributes\":" + String(repeating: "[", count: 45_000),
        "{\"lastLocation\":" + String(repeating: "{\"lastLocation\":", count: 45_000),
    ])
    func `a body that cannot be read is refused in words`(body: String) async throws {
        try await self.withClient { client in
            let response = try await Self.send(client, .put, Self.path + "/veh-1?updateMask=vehicleState", body)
            #expect(response.status == .badRequest)
            let error = try #require(Self.object(response)["error"] as? [String: Any])
            #expect(error["status"] as? String == "INVALID_ARGUMENT")
            #expect((error["message"] as? String)?.hasPrefix("The body ") == true)
        }
    }

    @Test func `a body that is not UTF-8 is refused`() async throws {
        try await self.withClient { client in
            let response = try await client.execute(
                uri: Self.path + "/veh-1?updateMask=licensePlate", method: .put,
                headers: [.authorization: "Bearer \(serverToken)"],
                body: ByteBuffer(bytes: Array("{\"name\":\"".utf8) + [0xFF, 0xFE] + Array("\"}".utf8)))
            #expect(response.status == .badRequest)
        }
    }

    @Test func `a body that is no text is called so`() async throws {
        try await self.withClient { client in
            let response = try await client.execute(
                uri: Self.path + "/veh-1?updateMask=licensePlate", method: .put,
                headers: [.authorization: "Bearer \(serverToken)"],
                body: ByteBuffer(bytes: Array("{\"".utf8) + [0xFF] + Array("\":1}".utf8)))
            #expect(try Self.message(response) == "The body is not UTF-8.")
        }
    }

    @Test(arguments: ["1e400", "-1e999", "\"1e400\""])
    func `a number out of range is called one, in a body and in a query`(number: String) async throws {
        try await self.withClient { client in
            let problem = "has a malformed number or one out of its field's range."
            let body = try await Self.send(
                client, .put, Self.path + "/veh-1?updateMask=lastLocation",
                #"{"lastLocation":{"location":{"latitude":\#(number)}}}"#)
            #expect(try Self.message(body) == "The body \(problem)")
            let text = number.filter { $0 != "\"" }
            let query = try await Self.send(client, .get, Self.path + "?viewport.low.latitude=\(text)")
            #expect(try Self.message(query) == "The query parameter viewport.low.latitude \(problem)")
        }
    }

    @Test(arguments: [
        "?updateMask=vehicleState&wheels=4", "?updateMask=vehicleState&updateMask=vehicleState",
        "?updateMask=vehicle-state", "?updateMask=wheels", "", "?updateMask=", "?updateMask=vehicleState&name=x",
        "?updateMask=vehicleState&header.androidApiLevel=many",
    ])
    func `a query that fits no field is refused`(query: String) async throws {
        try await self.withClient { client in
            let response = try await Self.send(
                client, .put, Self.path + "/veh-1" + query, #"{"vehicleState":"OFFLINE"}"#)
            #expect(response.status == .badRequest)
        }
    }

    /// What is wrong in each, as the contract spells it.
    private static let namedFields: [(HTTPRequest.Method, uri: String, body: String, field: String?)] = [
        (.get, "?pageSize=abc&minimumCapacity=2&vehicleState=2", "", "page_size"),
        (.get, "?pageSize=5&minimumCapacity=-1e400&vehicleState=2", "", "minimum_capacity"),
        (.get, "?pageSize=-1", "", "page_size"), (.get, "?pageSize=1&page_size=1", "", "page_size"),
        (.get, "?vehicleState=ONLINEE", "", "vehicle_state"), (.get, "?tripTypes=SHARED&tripTypes=X", "", "trip_types"),
        (.get, "?onTripOnly=1", "", "on_trip_only"), (.get, "?maximumStaleness=soon", "", "maximum_staleness"),
        (.get, "?viewport.low.latitude=1&viewport.high.latitude=up", "", "viewport.high.latitude"),
        (.get, "?header.regionCode=US&header.androidApiLevel=many", "", "header.android_api_level"),
        (.get, "?foo=1", "", "foo"), (.get, "?header.someNonsense=1", "", "header.some_nonsense"),
        (.get, "?pageToken=%zz", "", "page_token"), (.get, "?%FF=1", "", nil),
        (.get, "/a%2Fb", "", "name"), (.get, "/%ff", "", "name"),
        (.put, "/veh-1?updateMask=vehicleState", #"{"vehicleSate":"ONLINE"}"#, "vehicle_sate"),
        (.put, "/veh-1?updateMask=vehicleState", #"{"vehicleState":"XX"}"#, nil),
    ]

    @Test(arguments: namedFields)
    func `what is wrong is named in the metadata where it can be told`(
        verb: HTTPRequest.Method, uri: String, body: String, field: String?
    ) async throws {
        try await self.withClient { client in
            let response = try await Self.send(client, verb, Self.path + uri, body)
            #expect(response.status == .badRequest)
            let error = try #require(Self.object(response)["error"] as? [String: Any])
            let info = try #require((error["details"] as? [[String: Any]])?.first)
            #expect(info["reason"] as? String == "INVALID_ARGUMENT")
            #expect(info["metadata"] as? [String: String] == field.map { ["field": $0] } ?? [:])
        }
    }

    @Test func `a provider that cannot be one is named as the parent`() async throws {
        try await self.withClient { client in
            let response = try await Self.send(client, .get, "/v1/providers/%ff/vehicles")
            let error = try #require(Self.object(response)["error"] as? [String: Any])
            let info = try #require((error["details"] as? [[String: Any]])?.first)
            #expect(info["metadata"] as? [String: String] == ["field": "parent"])
        }
    }

    @Test func `a body of too many fields is refused before anything is made of it`() async throws {
        try await self.withClient { client in
            let values = String(repeating: "{},", count: 110_000)
            let response = try await Self.send(
                client, .put, Self.path + "/veh-1?updateMask=attributes", #"{"attributes":[\#(values){}]}"#)
            #expect(response.status == .contentTooLarge)
            let error = try #require(Self.object(response)["error"] as? [String: Any])
            #expect(error["message"] as? String == "The request has more than 200000 fields; send less at once.")
        }
    }

    @Test func `a body longer than a mebibyte is refused`() async throws {
        try await self.withClient { client in
            let body = #"{"name":""# + String(repeating: "x", count: EngineRoutes.maximumBodyBytes) + #""}"#
            let response = try await Self.send(client, .put, Self.path + "/veh-1?updateMask=vehicleState", body)
            #expect(response.status == .contentTooLarge)
            let error = try #require(Self.object(response)["error"] as? [String: Any])
            #expect(error["status"] as? String == "INVALID_ARGUMENT")
        }
    }

    @Test func `a call that cannot be read is counted, once`() async throws {
        let metrics = EngineMetrics()
        let router = Router()
        EngineRoutes(engine: Engine(store: MemoryStore(), verifier: TextVerifier(), metrics: metrics)).add(to: router)
        try await Application(router: router).test(.router) { client in
            let mask = "?updateMask=vehicleState"
            let calls = [
                ("/veh-1" + mask, "{"), ("/veh-1" + mask, #"{"wheels":4}"#), ("/veh-1" + mask + "&wheels=4", "{}"),
                ("/a%2Fb" + mask, "{}"),
                ("/veh-1" + mask, String(repeating: " ", count: EngineRoutes.maximumBodyBytes + 1)),
            ]
            for (uri, body) in calls { try await Self.send(client, .put, Self.path + uri, body) }
            try await Self.send(client, .put, Self.path + "/veh-1" + mask, "{", authorization: nil)
            try await Self.send(client, .put, Self.path + "/veh-1" + mask, #"{"vehicleState":"OFFLINE"}"#)
        }
        let counts = metrics.text().split(separator: "\n").filter { $0.hasPrefix("fleetpass_engine_calls_total{") }
        #expect(
            counts.map { $0.dropFirst("fleetpass_engine_calls_total".count) } == [
                #"{method="UpdateVehicle",code="INVALID_ARGUMENT"} 5"#, #"{method="UpdateVehicle",code="NOT_FOUND"} 1"#,
                #"{method="UpdateVehicle",code="UNAUTHENTICATED"} 1"#,
            ])
    }

    @Test func `a batch of tasks may be as long as 500 tasks with their attributes are`() async throws {
        try await self.withClient { client in
            let text = String(repeating: "x", count: 200)
            let attributes = (0..<20).map { #"{"key":"key-\#($0)","stringValue":"\#(text)"}"# }.joined(separator: ",")
            let requests = (0..<500).map { number in
                #"{"taskId":"task-\#(number)","task":{"type":"DELIVERY","state":"OPEN","trackingId":"shp-1","#
                    + #""plannedLocation":{"point":{"latitude":37,"longitude":-122}},"taskDuration":"60s","#
                    + #""attributes":[\#(attributes)]}}"#
            }
            let body = #"{"requests":[\#(requests.joined(separator: ","))]}"#
            #expect(body.utf8.count > 2 * EngineRoutes.maximumBodyBytes)
            let uri = "/v1/providers/acme/tasks:batchCreate"
            let authorization = "Bearer delivery_server|taskids=*"
            let created = try await Self.send(client, .post, uri, body, authorization: authorization)
            #expect(created.status == .ok)
            #expect(try (Self.object(created)["tasks"] as? [Any])?.count == 500)
            let tooLong = String(repeating: " ", count: EngineRoutes.maximumBatchBytes + 1)
            let refused = try await Self.send(client, .post, uri, tooLong, authorization: authorization)
            #expect(refused.status == .contentTooLarge)
            // Who may make none is not read from, nor is who is not known.
            #expect(try await Self.send(client, .post, uri, tooLong).status == .forbidden)
            let stranger = try await Self.send(client, .post, uri, tooLong, authorization: nil)
            #expect(stranger.status == .unauthorized)
        }
    }

    @Test func `the name in the path wins over the body's`() async throws {
        try await self.withClient { client in
            let response = try await Self.send(
                client, .post, Self.path + "/veh-1:updateAttributes",
                #"{"name":"providers/acme/vehicles/other","attributes":[{"key":"k","value":"v"}]}"#)
            #expect(response.status == .ok)
        }
    }

    @Test(arguments: [
        (HTTPRequest.Method.get, "/v1/nothing", 404), (.get, "/v1/providers/acme/cars/c", 404),
        (.patch, path + "/veh-1", 404), (.get, path + "/a%2Fb", 400), (.get, path + "/%zz", 400),
        (.get, path + "?pageSize=1&wheels=2", 400),
        // The RPCs that the API had once.
        (.put, path + "/veh-1:updateLocation", 404), (.post, path + ":searchFuzzed", 404),
        (.get, "/v1/providers/acme/tasks:search", 404),
    ])
    func `what is not served is said in the envelope`(verb: HTTPRequest.Method, uri: String, code: Int) async throws {
        try await self.withClient { client in
            let response = try await Self.send(client, verb, uri)
            #expect(response.status.code == code)
            let error = try #require(Self.object(response)["error"] as? [String: Any])
            #expect(error["code"] as? Int == code)
        }
    }

    @Test func `a POST whose header names another verb is the call of that verb`() async throws {
        try await self.withClient { client in
            let van = "/v1/providers/acme/deliveryVehicles"
            func send(
                _ verb: HTTPRequest.Method, _ meant: String, _ uri: String, _ body: String = "{}",
                token: String = deliveryToken
            ) async throws -> TestResponse {
                try await Self.send(client, verb, uri, body, authorization: "Bearer \(token)", meaning: [meant])
            }
            #expect(try await send(.post, "POST", van + "?deliveryVehicleId=van-1").status == .ok)
            let patch = van + "/van-1?updateMask=type"
            let changed = try await send(.post, "PATCH", patch, #"{"type":"BICYCLE"}"#)
            #expect(changed.status == .ok)
            #expect(try Self.object(changed)["type"] as? String == "BICYCLE")
            #expect(try await Self.object(send(.post, "GET", van + "/van-1"))["type"] as? String == "BICYCLE")
            // The role must suit the call that the request becomes, and the path its verb.
            #expect(try await send(.post, "PATCH", patch, token: "consumer|tripid=t-1").status == .forbidden)
            #expect(try await send(.post, "PATCH", patch, token: "bad").status == .unauthorized)
            #expect(try await send(.post, "DELETE", "/v1/providers/acme/tasks:batchCreate").status == .notFound)
            #expect(try await send(.post, "DELETE", van + "/van-1").status == .ok)
            #expect(try await send(.get, "GET", van + "/van-1").status == .notFound)
        }
    }

    @Test func `a header that names no verb is refused in words, and beside other verbs ignored`() async throws {
        try await self.withClient { client in
            for meant in [["patch"], ["TRACE"], [""], ["PUT", "PUT"]] {
                let refused = try await Self.send(client, .post, Self.path + "/veh-1", Self.body, meaning: meant)
                #expect(refused.status == .notFound)
                let message = try #require(try Self.message(refused))
                #expect(message.hasPrefix("X-HTTP-Method-Override is \(meant.joined(separator: ", ")), "), "\(message)")
                #expect(message.hasSuffix("use one of GET, POST, PUT, PATCH, DELETE."), "\(message)")
            }
            for meant in ["DELETE", "nothing"] {
                let read = try await Self.send(client, .get, Self.path + "/veh-1", meaning: [meant])
                #expect(read.status == .ok)
            }
        }
    }

    @Test func `other routes of the server are left alone`() async throws {
        try await self.withClient { client in
            let response = try await Self.send(client, .get, "/", authorization: nil)
            #expect(String(buffer: response.body) == "a page")
        }
    }
}

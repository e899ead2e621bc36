// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import FleetEngineAPI
import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import Testing

/// The client at a server of this machine, which sees what really travels.
@Suite(.timeLimit(.minutes(2))) struct FleetEngineHTTPClientTests {
    private struct NoToken: Error {}

    /// Gives the tokens in turn, the last one from then on, and notes what it was asked and told.
    private final class Tokens: FleetTokenSource {
        struct State {
            var tokens: [FleetToken]
            var asked: [String] = []
            var discarded: [FleetToken] = []
        }
        let state: Locked<State>

        init(_ tokens: FleetToken...) { self.state = Locked(State(tokens: tokens)) }

        func token(for method: FleetMethod, on resource: ResourceName?) throws -> FleetToken {
            try self.state.withLock { state in
                state.asked.append("\(method.name) \(resource.map { "\($0)" } ?? "-")")
                guard let token = state.tokens.first else { throw NoToken() }
                if state.tokens.count > 1 { state.tokens.removeFirst() }
                return token
            }
        }

        func discard(_ token: FleetToken, for method: FleetMethod, on resource: ResourceName?) {
            self.state.withLock { $0.discarded.append(token) }
        }
    }

    /// Gives one token at most, and then waits until nobody wants another one.
    private final class SilentTokens: FleetTokenSource {
        /// Stands still; who waits for a token sleeps on it.
        let waiting = ManualClock()
        private let first: Locked<FleetToken?>

        init(after first: FleetToken? = nil) { self.first = Locked(first) }

        func token(for method: FleetMethod, on resource: ResourceName?) async throws -> FleetToken {
            let token = self.first.withLock { first in
                defer { first = nil }
                return first
            }
            if let token { return token }
            try await self.waiting.sleep(for: .seconds(1))
            throw NoToken()
        }

        func discard(_ token: FleetToken, for method: FleetMethod, on resource: ResourceName?) {}
    }

    private static func token(_ type: TokenType, serial: Int = 0) throws -> FleetToken {
        TestTokens.token(claiming: try type.claims, serial: serial)
    }

    private static func server(_ statuses: Int...) throws -> LoopbackServer {
        let left = Locked(statuses)
        return try LoopbackServer { _ in
            .response(HTTPTransportResponse(status: left.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }))
        }
    }

    @Test func `a call carries its token, its path and its body`() async throws {
        let server = try Self.server(200)
        let token = try Self.token(.server)
        let tokens = Tokens(token)
        let client = try FleetEngineHTTPClient(engine: server.url.absoluteString, tokens: tokens)
        let response = try await client.execute(
            .createVehicle, on: ResourceName(checking: "providers/acme/vehicles/veh 3"), body: Array("{}".utf8))
        #expect(response.status == .ok)
        let request = try #require(server.requests.first)
        #expect(request.method == "POST")
        #expect(request.target == "/v1/providers/acme/vehicles?vehicleId=veh%203")
        #expect(request.header("Authorization") == token.authorizationHeader)
        #expect(request.header("Content-Type") == "application/json")
        #expect(request.body == Data("{}".utf8))
        #expect(tokens.state.withLock { $0.asked } == ["CreateVehicle providers/acme/vehicles/veh 3"])
    }

    @Test func `an answer's body can be read when the client is no longer used`() async throws {
        let body = Data(repeating: 0x20, count: 4_000_000)
        let server = try LoopbackServer { _ in .response(HTTPTransportResponse(status: 200, body: body)) }
        func call() async throws -> HTTPClientResponse {
            let client = try FleetEngineHTTPClient(
                engine: server.url.absoluteString, tokens: Tokens(try Self.token(.server)))
            return try await client.execute(.getVehicle, on: ResourceName(checking: "providers/acme/vehicles/v"))
        }
        let response = try await call()
        #expect(try await response.body.collect(upTo: body.count).readableBytes == body.count)
    }

    @Test func `a call may be on an id that begins with an accent`() async throws {
        let server = try Self.server(200)
        let client = try FleetEngineHTTPClient(
            engine: server.url.absoluteString, tokens: Tokens(try Self.token(.server)))
        let vehicle = try ResourceName(checking: "providers/acme/vehicles/\u{301}")
        _ = try await client.execute(.getVehicle, on: vehicle)
        _ = try await client.execute(.createVehicle, on: vehicle, body: Array("{}".utf8))
        #expect(
            server.requests.map(\.target) == [
                "/v1/providers/acme/vehicles/%CC%81", "/v1/providers/acme/vehicles?vehicleId=%CC%81",
            ])
    }

    @Test(arguments: [
        (TokenType?.none, "GetTrip", "providers/acme/trips/trip-7", true),
        (try .consumer(TripID(checking: "trip-7")), "GetTrip", "providers/acme/trips/trip-7", true),
        (try .consumer(TripID(checking: "trip-8")), "GetTrip", "providers/acme/trips/trip-7", false),
        (try .consumer(TripID(checking: "trip-7")), "GetVehicle", "providers/acme/vehicles/trip-7", false),
        // Only the engine knows which vehicle the trip has.
        (try .driver(VehicleID(checking: "veh-3")), "GetTrip", "providers/acme/trips/trip-7", true),
        (try .driver(VehicleID(checking: "veh-3")), "UpdateVehicle", "providers/acme/vehicles/veh-3", true),
        (try .driver(VehicleID(checking: "veh-3")), "UpdateVehicle", "providers/acme/vehicles/veh-4", false),
        (try .driver(VehicleID(checking: "veh-3")), "SearchTrips", "providers/acme", true),
        (try .driver(VehicleID(checking: "veh-3")), "ListVehicles", "providers/acme", false),
        (.server, "SearchVehicles", "providers/acme", true),
        (.server, "GetTask", "providers/acme/tasks/task-1", false),
        (.batchTaskCreation(.any), "BatchCreateTasks", "providers/acme", true),
    ]) func `a token leaves only with a call that it was made for`(
        type: TokenType?, method: String, resource: String, leaves: Bool
    ) async throws {
        let server = try Self.server(200)
        let token = try TestTokens.token(claiming: type?.claims)
        let client = try FleetEngineHTTPClient(engine: server.url.absoluteString, tokens: Tokens(token))
        let call = try #require(FleetMethod(named: method))
        do {
            _ = try await client.execute(call, on: ResourceName(checking: resource))
            #expect(leaves)
        } catch let error as FleetEngineCallError {
            #expect(!leaves && error.code == .tokenMismatch)
            #expect(!error.description.contains(token.compactSerialization))
        }
        #expect(server.requests.count == (leaves ? 1 : 0))
    }

    @Test(arguments: [
        ("trip-7", "vehicle_waypoints", true), ("trip-7", "dropoffPoint,vehicleWaypoints", true),
        ("trip-8", "vehicle_waypoints", false),
    ]) func `a trip's token leaves with an order of stops, which is ignored where the trip has no vehicle`(
        trip: String, mask: String, leaves: Bool
    ) async throws {
        let server = try Self.server(200)
        let token = TestTokens.token(claiming: try AuthorizationClaims(trip: .only(TripID(checking: trip))))
        let client = try FleetEngineHTTPClient(engine: server.url.absoluteString, tokens: Tokens(token))
        do {
            _ = try await client.execute(
                .updateTrip, on: ResourceName(checking: "providers/acme/trips/trip-7"), query: [("updateMask", mask)])
            #expect(leaves)
        } catch let error as FleetEngineCallError {
            #expect(!leaves && error.code == .tokenMismatch)
        }
        #expect(server.requests.count == (leaves ? 1 : 0))
    }

    @Test func `a token whose claims are all ignored leaves as one without any, as it may be an administrator's`()
        async throws
    {
        let server = try Self.server(200)
        let token = TestTokens.token(claiming: try AuthorizationClaims(additional: ["x": "y"]))
        let client = try FleetEngineHTTPClient(engine: server.url.absoluteString, tokens: Tokens(token))
        let response = try await client.execute(.searchVehicles, on: ResourceName(checking: "providers/acme"))
        #expect(response.status == .ok)
    }

    @Test func `what is no token is not sent`() async throws {
        let server = try Self.server(200)
        let client = try FleetEngineHTTPClient(
            engine: server.url.absoluteString, tokens: Tokens(FleetToken("ya29.access-token")))
        let error = await #expect(throws: FleetEngineCallError.self) {
            try await client.execute(.listVehicles, on: ResourceName(checking: "providers/acme"))
        }
        #expect(error?.code == .tokenMismatch)
        #expect(server.requests.isEmpty)
    }

    @Test func `a refused token is replaced once, and the body goes with the new one`() async throws {
        let server = try Self.server(401, 200)
        let old = try Self.token(.server, serial: 1)
        let new = try Self.token(.server, serial: 2)
        let tokens = Tokens(old, new)
        let client = try FleetEngineHTTPClient(engine: server.url.absoluteString, tokens: tokens)
        let response = try await client.execute(
            .searchVehicles, on: ResourceName(checking: "providers/acme"), body: Array("{}".utf8))
        #expect(response.status == .ok)
        #expect(server.requests.compactMap { $0.header("Authorization") } == [old, new].map(\.authorizationHeader))
        #expect(server.requests.last?.body == Data("{}".utf8))
        #expect(tokens.state.withLock { $0.discarded } == [old])
    }

    @Test func `an engine that refuses the new token too is not asked a third time`() async throws {
        let server = try Self.server(401)
        let tokens = Tokens(try Self.token(.server, serial: 1), try Self.token(.server, serial: 2))
        let client = try FleetEngineHTTPClient(engine: server.url.absoluteString, tokens: tokens)
        let response = try await client.execute(.listVehicles, on: ResourceName(checking: "providers/acme"))
        #expect(response.status == .unauthorized)
        #expect(server.requests.count == 2)
    }

    @Test func `the same token is not sent again`() async throws {
        let server = try Self.server(401)
        let client = try FleetEngineHTTPClient(
            engine: server.url.absoluteString, tokens: Tokens(try Self.token(.server)))
        let response = try await client.execute(.listVehicles, on: ResourceName(checking: "providers/acme"))
        #expect(response.status == .unauthorized)
        #expect(server.requests.count == 1)
    }

    /// A call of five seconds, whose time is over while it waits for a token.
    private static func call(_ server: LoopbackServer, with tokens: SilentTokens) async throws -> HTTPClientResponse {
        let clock = ManualClock()
        let client = try FleetEngineHTTPClient(
            engine: server.url.absoluteString, tokens: tokens, configuration: HTTPClient.Configuration(), clock: clock)
        let call = Task {
            try await client.execute(
                .listVehicles, on: ResourceName(checking: "providers/acme"), timeout: .seconds(5))
        }
        await tokens.waiting.waitForSleepers(1)
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(5))
        return try await call.value
    }

    @Test func `a call's time ends the wait for its token`() async throws {
        let server = try Self.server(200)
        let tokens = SilentTokens()
        let error = await #expect(throws: HTTPClientError.self) { try await Self.call(server, with: tokens) }
        #expect(error == .deadlineExceeded)
        #expect(tokens.waiting.sleeperCount == 0)
        #expect(server.requests.isEmpty)
    }

    /// Gives no token before it is released, whatever becomes of who wants one.
    private final class DeafTokens: FleetTokenSource {
        private let waiting = Locked<CheckedContinuation<Void, Never>?>(nil)
        var isWaiting: Bool { self.waiting.withLock { $0 != nil } }

        func release() { self.waiting.withLock { $0 }?.resume() }

        func token(for method: FleetMethod, on resource: ResourceName?) async throws -> FleetToken {
            await withCheckedContinuation { continuation in self.waiting.withLock { $0 = continuation } }
            throw NoToken()
        }

        func discard(_ token: FleetToken, for method: FleetMethod, on resource: ResourceName?) {}
    }

    @Test func `a call's time ends the wait for a source that does not listen`() async throws {
        let (server, tokens, clock) = (try Self.server(200), DeafTokens(), ManualClock())
        let client = try FleetEngineHTTPClient(
            engine: server.url.absoluteString, tokens: tokens, configuration: HTTPClient.Configuration(), clock: clock)
        let call = Task {
            try await client.execute(
                .listVehicles, on: ResourceName(checking: "providers/acme"), timeout: .seconds(5))
        }
        while !tokens.isWaiting { await Task.yield() }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: HTTPClientError.self) { try await call.value }
        #expect(error == .deadlineExceeded)
        tokens.release()
    }

    @Test func `a call's time ends the wait for another token, and the engine's refusal is the answer`() async throws {
        let server = try Self.server(401)
        let tokens = SilentTokens(after: try Self.token(.server))
        let response = try await Self.call(server, with: tokens)
        #expect(response.status == .unauthorized)
        #expect(tokens.waiting.sleeperCount == 0)
        #expect(server.requests.count == 1)
    }

    @Test func `an answer that stops is given up, after 30 s where nothing else is said`() {
        var configuration = HTTPClient.Configuration()
        let engine = "https://fleetengine.googleapis.com"
        #expect(FleetEngineHTTPClient.adjusted(configuration, for: engine).timeout.read == .seconds(30))
        configuration.timeout.read = .seconds(90)
        #expect(FleetEngineHTTPClient.adjusted(configuration, for: engine).timeout.read == .seconds(90))
    }

    @Test func `TLS is of version 1.2 at least, unless something else is said of it`() {
        var configuration = HTTPClient.Configuration()
        let engine = "https://fleetengine.googleapis.com"
        #expect(
            FleetEngineHTTPClient.adjusted(configuration, for: engine).tlsConfiguration?.minimumTLSVersion == .tlsv12)
        configuration.tlsConfiguration = .makeClientConfiguration()
        configuration.tlsConfiguration?.minimumTLSVersion = .tlsv13
        #expect(
            FleetEngineHTTPClient.adjusted(configuration, for: engine).tlsConfiguration?.minimumTLSVersion == .tlsv13)
    }

    @Test func `other refusals are answers`() async throws {
        let server = try Self.server(403)
        let client = try FleetEngineHTTPClient(
            engine: server.url.absoluteString, tokens: Tokens(try Self.token(.server)))
        let response = try await client.execute(.listVehicles, on: ResourceName(checking: "providers/acme"))
        #expect(response.status == .forbidden)
        #expect(server.requests.count == 1)
    }

    @Test(arguments: [301, 302, 307, 308]) func `a redirect is an answer, and the token does not follow it`(
        status: Int
    ) async throws {
        let elsewhere = try Self.server(200)
        let server = try LoopbackServer { _ in
            let place = elsewhere.url.absoluteString + "/v1/providers/acme/vehicles"
            return .response(HTTPTransportResponse(status: status, headers: [("Location", place)]))
        }
        let client = try FleetEngineHTTPClient(
            engine: server.url.absoluteString, tokens: Tokens(try Self.token(.server)))
        let response = try await client.execute(.listVehicles, on: ResourceName(checking: "providers/acme"))
        #expect(Int(response.status.code) == status)
        #expect(elsewhere.requests.isEmpty)
    }

    @Test(arguments: [
        ("https://fleetengine.googleapis.com", true), ("https://engine.example:8443/prefix/", true),
        ("http://127.0.0.1:8080", true), ("http://[::1]:8080", true), ("http://localhost:8080", true),
        ("http://engine.example", false), ("http://127.0.0.1.example", false),
        ("http://127.0.0.1@engine.example", false),
        ("https://user@engine.example", false), ("https://engine.example?x=", false), ("ftp://127.0.0.1", false),
        ("https://", false), ("", false),
    ]) func `tokens go to https and to this machine only`(engine: String, isTaken: Bool) throws {
        let tokens = Tokens(try Self.token(.server))
        do {
            _ = try FleetEngineHTTPClient(engine: engine, tokens: tokens)
            #expect(isTaken)
        } catch {
            #expect(!isTaken && error.code == .insecureEngine)
        }
    }

    @Test(arguments: [
        (FleetMethod.getTrip, "providers/acme/vehicles/veh-3", "providers/acme/trips/ID"),
        (.getTrip, "providers/acme", "providers/acme/trips/ID"),
        (.createTask, "providers/acme", "providers/acme/tasks/ID"),
        (.searchVehicles, "providers/acme/vehicles/veh-3", "providers/acme,"),
    ]) func `a resource that does not fit the method is named, and nothing is asked`(
        method: FleetMethod, resource: String, wanted: String
    ) async throws {
        let tokens = Tokens()
        let client = try FleetEngineHTTPClient(tokens: tokens)
        let error = await #expect(throws: FleetEngineCallError.self) {
            try await client.execute(method, on: ResourceName(checking: resource))
        }
        #expect(error?.code == .invalidCall)
        #expect(error?.message.contains(wanted) == true)
        #expect(error?.message.contains(resource) == true)
        #expect(tokens.state.withLock { $0.asked }.isEmpty)
    }

    @Test func `the id of what is made is named once`() async throws {
        let client = try FleetEngineHTTPClient(tokens: Tokens())
        let error = await #expect(throws: FleetEngineCallError.self) {
            try await client.execute(
                .createTrip, on: ResourceName(checking: "providers/acme/trips/trip-7"), query: [("tripId", "trip-8")])
        }
        #expect(error?.code == .invalidCall)
    }

    @Test func `without a token nothing is sent, and the cause is told`() async throws {
        let server = try Self.server(200)
        let client = try FleetEngineHTTPClient(engine: server.url.absoluteString, tokens: Tokens())
        let error = await #expect(throws: FleetEngineCallError.self) {
            try await client.execute(.listVehicles, on: ResourceName(checking: "providers/acme"))
        }
        #expect(error?.code == .noToken)
        #expect(error?.cause is NoToken)
        #expect((error as (any Error)?)?.localizedDescription == error?.message)
        #expect(error.map { ($0 as NSError).userInfo[NSUnderlyingErrorKey] is NoToken } == true)
        #expect(server.requests.isEmpty)
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngine
import FleetEngineAPI
import FleetOperation
import FleetSigning
import FleetTokens
import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import GoogleCredentials
import Logging
import ServiceLifecycle
import SwiftProtobuf
import Testing

/// The server of the guide "Run an engine".
@Suite(.timeLimit(.minutes(2))) struct EngineServerTests {
    /// What a server needs, in a folder that is removed with the value.
    private final class World {
        let folder = URL.temporaryDirectory.appending(path: "fleetpass-\(UUID().uuidString)")
        let ports = AsyncStream.makeStream(of: EngineServer.Ports.self)
        let minter: TokenMinter
        let transport = AsyncHTTPClientTransport()

        init() throws {
            let account = try ServiceAccountKey(generatingFor: "backend@acme.example", projectID: "acme")
            self.minter = TokenMinter(signer: try LocalSigner(account))
            try FileManager.default.createDirectory(
                at: self.folder.appending(path: "data"), withIntermediateDirectories: true)
            try account.keyFile.write(to: self.folder.appending(path: "backend.json"))
            try Data(
                """
                version: 1
                accounts: [{email: backend@acme.example, provider: acme, roles: server, keys: backend.json}]
                """.utf8
            ).write(to: self.folder.appending(path: "trust.yaml"))
        }

        deinit { try? FileManager.default.removeItem(at: self.folder) }

        func server(
            _ settings: String = "", data: String = "data",
            revocationStore: EngineServer.RevocationStoreOpening? = nil
        ) throws -> EngineServer {
            let configuration = try EngineConfiguration(
                yaml: """
                    providers: acme
                    data: \(data)
                    trust: {files: trust.yaml}
                    listen: {http_port: 0, grpc_port: 0}

                    """ + settings, folder: self.folder, environment: [:])
            let announce = self.ports.continuation
            return try EngineServer(configuration, revocationStore: revocationStore, logger: Self.logger) {
                announce.yield($0)
            }
        }

        func token(at time: Date = Date()) async throws -> String {
            try await self.minter.mint(TokenType.server.claims, at: time).token.compactSerialization
        }

        /// The status and body of an answer over REST.
        func send(
            _ path: String, _ token: String? = nil, creating body: String? = nil, to ports: EngineServer.Ports
        ) async throws -> (status: Int, text: String) {
            let answer = try await self.transport.send(
                UpstreamRequest(
                    method: body == nil ? "GET" : "POST", url: "http://127.0.0.1:\(ports.http)\(path)",
                    headers: token.map { [("Authorization", "Bearer \($0)")] } ?? [],
                    body: body.map { [UInt8]($0.utf8) }))
            return (answer.status, String(decoding: answer.body, as: UTF8.self))
        }

        /// Serves while a body asks, and ends as a signal does.
        func serving(_ server: EngineServer, _ body: (_ ports: EngineServer.Ports) async throws -> Void) async throws {
            let group = ServiceGroup(configuration: .init(services: [server], logger: Self.logger))
            let running = Task { try await group.run() }
            var told = self.ports.stream.makeAsyncIterator()
            let ports = try #require(await told.next())
            do {
                try await body(ports)
            } catch {
                Issue.record(error)
            }
            await group.triggerGracefulShutdown()
            try await running.value
            await #expect(throws: UpstreamError.self, "the port is closed") {
                try await self.send("/healthz", to: ports)
            }
        }

        static var logger: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
    }

    private static let vehicle = """
        {"vehicleState": "ONLINE", "supportedTripTypes": ["EXCLUSIVE"], "maximumCapacity": 4, "vehicleType": {"category": "AUTO"}}
        """

    @Test func `it answers on both ports, and what it kept is there for the next`() async throws {
        let world = try World()
        let token = try await world.token()
        try await world.serving(try world.server()) { ports throws in
            let path = "/v1/providers/acme/vehicles?vehicleId=veh-3"
            #expect(try await world.send(path, creating: Self.vehicle, to: ports).status == 401)
            #expect(try await world.send(path, token, creating: Self.vehicle, to: ports).status == 200)
            #expect(try await world.send("/healthz", to: ports).text == "ok\n")
            let metrics = try await world.send("/metrics", to: ports).text
            #expect(metrics.contains(#"fleetpass_engine_calls_total{method="CreateVehicle",code="OK"} 1"#))
            #expect(try await world.send("/", to: ports).status == 404, "nobody may see the page")
        }
        let next = try world.server("page: {visible_to: this_machine}")
        try await world.serving(next) { ports throws in
            try await withGRPCClient(
                transport: .http2NIOPosix(
                    target: .ipv4(address: "127.0.0.1", port: ports.grpc), transportSecurity: .plaintext)
            ) { client in
                let call = WireCall.getVehicle(.with { $0.name = "providers/acme/vehicles/veh-3" })
                let vehicle: Vehicle = try await GRPCWire(client: client).call(call, token: token)
                #expect(vehicle.maximumCapacity == 4)
            }
            #expect(try await world.send("/", to: ports).status == 200)
        }
        #expect(!next.engine.activity.snapshot().tokens.isEmpty)
    }

    @Test func `a setting or a store that cannot be used is told before anything listens`() async throws {
        let world = try World()
        var error = try #require(throws: ConfigurationError.self) { try world.server(data: "elsewhere") }
        #expect(error.message.hasSuffix("elsewhere does not exist; make it, or set data."))
        error = try #require(throws: ConfigurationError.self) { try world.server("record: none/calls.jsonl") }
        #expect(error.message.hasPrefix("the recording "))
        error = try #require(throws: ConfigurationError.self) { try world.server("revocations: {store: gone.sqlite}") }
        #expect(error.message.hasPrefix("revocations.store is set, and nothing was given that opens it"))
        let first = try world.server()
        let held = try #require(throws: EngineError.self) { try world.server() }
        #expect(held.code == .unavailable)
        try await first.prepare()
    }

    /// Withdraws one token, and counts how often it was prepared.
    private struct OneWithdrawn: RevocationKeeping {
        let fingerprint: String
        let list: RevocationList
        let prepared: Locked<Int>
        var problem: String? { "it is of yesterday" }

        func prepare() {
            self.prepared.withLock { $0 += 1 }
            let end = Date() + 3600
            self.list.replace([Revocation(kind: .fingerprint, value: self.fingerprint, endsAt: end)])
        }

        func run() async throws { try await gracefulShutdown() }
    }

    @Test func `what a token server's store withdrew is refused from the first call on`() async throws {
        let world = try World()
        let minted = try await world.minter.mint(TokenType.server.claims, at: Date()).token
        let (places, prepared) = (Locked<[String]>([]), Locked(0))
        let server = try world.server("revocations: {store: tokens.sqlite}") { place, list in
            places.withLock { $0.append(place) }
            return OneWithdrawn(fingerprint: minted.fingerprint, list: list, prepared: prepared)
        }
        try await server.prepare()
        try await world.serving(server) { ports throws in
            let refused = try await world.send(
                "/v1/providers/acme/vehicles", minted.compactSerialization, to: ports)
            #expect(refused.status == 401 && refused.text.contains("TOKEN_REVOKED"))
            let other = try await world.token(at: Date() - 60)
            #expect(try await world.send("/v1/providers/acme/vehicles", other, to: ports).status == 200)
            let readiness = try await world.send("/readyz", to: ports)
            #expect(readiness.status == 503 && readiness.text.contains("revocations: it is of yesterday\n"))
        }
        #expect(places.withLock { $0 } == [world.folder.appending(path: "tokens.sqlite").path(percentEncoded: false)])
        #expect(prepared.withLock { $0 } == 1)
    }

    @Test func `printing it shows no address of a store`() throws {
        let world = try World()
        let address = "postgresql://owner:s3cret@db.example/fleet"
        let server = try world.server("store: {postgresql: '\(address)'}")
        var dumped = ""
        dump(server, to: &dumped)
        let told = "\(server) \(String(reflecting: server)) \(dumped)"
        #expect(told.contains("acme") && !told.contains("db.example"), "\(told)")
    }
}

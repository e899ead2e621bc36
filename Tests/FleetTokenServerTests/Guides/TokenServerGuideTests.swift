// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning
import FleetTokenServer
import FleetTokens
import Foundation
import GoogleCredentials
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import ServiceLifecycle
import Testing

/// The company's login, which knows one session.
enum AcmeLogin {
    struct Down: Error {}

    static func driver(ofSession session: String) async throws -> String? {
        if session.hasSuffix("down") { throw Down() }
        return session.hasSuffix("7") ? "driver-7" : nil
    }

    static func isDriving(_ driver: String, _ vehicle: VehicleID) async throws -> Bool {
        if vehicle.value == "veh-down" { throw Down() }
        return driver == "driver-7" && vehicle.value == "veh-3"
    }
}

/// The program of the guide "Run a token server".
@Suite(.timeLimit(.minutes(2))) struct TokenServerGuideTests {
    /// Asks a running server.
    private struct Client {
        let port: Int
        let transport = AsyncHTTPClientTransport()

        func get(_ path: String, _ bearer: String? = nil) async throws -> UpstreamResponse {
            try await self.transport.send(
                UpstreamRequest(
                    url: "http://127.0.0.1:\(self.port)\(path)",
                    headers: bearer.map { [("Authorization", "Bearer \($0)")] } ?? []))
        }
    }

    /// What the program needs, in a folder that is removed with the value.
    private final class World {
        let folder = URL.temporaryDirectory.appending(path: "fleetpass-\(UUID().uuidString)")
        let ports = AsyncStream.makeStream(of: Int.self)

        init() throws {
            let keys = self.folder.appending(path: "keys")
            try FileManager.default.createDirectory(at: keys, withIntermediateDirectories: true)
            try ServiceAccountKey(generatingFor: "driver@acme.example", projectID: "acme").keyFile
                .write(to: keys.appending(path: "driver.json"))
        }

        deinit { try? FileManager.default.removeItem(at: self.folder) }

        func server(
            _ settings: String = "", policy: (any TokenPolicy)? = nil, logger: Logger = World.logger
        ) throws -> TokenServer {
            let configuration = try TokenServerConfiguration(
                yaml: "provider: acme\ndata: .\nkeys: keys\nlisten: {port: 0}\n" + settings, folder: self.folder,
                environment: [:])
            let announce = self.ports.continuation
            return try TokenServer(
                configuration, authenticators: [AcmeSessions { try await AcmeLogin.driver(ofSession: $0) }],
                policy: policy, environment: [:], logger: logger
            ) { announce.yield($0) }
        }

        /// Serves while a body asks, and ends as a signal does.
        func serving(
            _ server: TokenServer, _ body: (_ client: Client) async throws -> Void
        ) async throws {
            let group = ServiceGroup(configuration: .init(services: [server], logger: Self.logger))
            let running = Task { try await group.run() }
            var ports = self.ports.stream.makeAsyncIterator()
            let port = try #require(await ports.next())
            let client = Client(port: port)
            do {
                try await body(client)
            } catch {
                Issue.record(error)
            }
            await group.triggerGracefulShutdown()
            try await running.value
            await #expect(throws: UpstreamError.self, "the port is closed") {
                try await client.get("/healthz")
            }
        }

        private static var logger: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
    }

    @Test func `the program gives tokens to those whose sessions its code knows`() async throws {
        let world = try World()
        let shifts = AcmeShifts { driver, vehicle in try await AcmeLogin.isDriving(driver, vehicle) }
        try await world.serving(try world.server(policy: shifts)) { client throws in
            let granted = try await client.get("/token/driver/veh-3", "acme-session-7")
            #expect(granted.status == 200)
            #expect(try await client.get("/token/driver/veh-4", "acme-session-7").status == 403)
            #expect(try await client.get("/token/driver/veh-down", "acme-session-7").status == 503)
            #expect(try await client.get("/token/driver/veh-3", "acme-session-8").status == 401)
            #expect(try await client.get("/token/driver/veh-3", "acme-session-down").status == 503)
            #expect(try await client.get("/token/driver/veh-3", "another").status == 401)
            #expect(try await client.get("/readyz").status == 200)
            let metrics = String(decoding: try await client.get("/metrics").body, as: UTF8.self)
            #expect(metrics.contains(#"fleetpass_token_requests_total{role="driver",outcome="granted"} 1"#))
        }
        // The store was closed, and what was granted is in it.
        let store = try TokenServerStore(
            openingAt: world.folder.appending(path: "token-server.sqlite").path(percentEncoded: false))
        var granted = AuditQuery()
        granted.decision = .granted
        let newest = try await AuditReader(store: store).latest(granted, limit: 5)
        #expect(newest.count == 1)
        try store.close()
    }

    @Test func `what a group of services tells of it has no password`() throws {
        let world = try World()
        let server = try world.server("store: {postgresql: 'postgresql://owner:s3cret@127.0.0.1:1/fleet'}\n")
        func told(_ value: some Any) -> String {
            var dumped = ""
            dump(value, to: &dumped)
            return "\(value) \(String(reflecting: value)) \(dumped)"
        }
        for text in [told(server), told(server.upkeep), told([server as any Service])] {
            #expect(text.contains("acme") && !text.contains("s3cret"), "\(text)")
        }
    }

    @Test func `callers of the configuration are known beside those of the code`() async throws {
        let world = try World()
        let (secret, salt, digest) = StaticBearerAuthenticator.makeSecret()
        let callers = """
            {"callers": [{"name": "app", "salt": "\(salt)", "secret_sha256": "\(digest)", "roles": ["driver"]}]}
            """
        try Data(callers.utf8).write(to: world.folder.appending(path: "callers.json"))
        try await world.serving(try world.server("callers: {file: callers.json}\n")) { client throws in
            #expect(try await client.get("/token/driver/veh-3", secret).status == 200)
            #expect(try await client.get("/token/driver/veh-3", "acme-session-7").status == 200)
            #expect(try await client.get("/token/driver/veh-3", "acme-session-8").status == 401)
        }
    }

    @Test func `callers and administrators are those of their files as they are now`() async throws {
        let world = try World()
        func write(_ name: String, roles: String) throws -> String {
            let (secret, salt, digest) = StaticBearerAuthenticator.makeSecret()
            let entry = #"{"name": "app", "salt": "\#(salt)", "secret_sha256": "\#(digest)"\#(roles)}"#
            try Data(#"{"callers": [\#(entry)]}"#.utf8).write(
                to: world.folder.appending(path: name), options: .atomic)
            return secret
        }
        let files = [
            (name: "callers.json", roles: #", "roles": ["driver"]"#, path: "/token/driver/veh-3"),
            (name: "admins.json", roles: "", path: "/admin/api/keys"),
        ]
        var secrets = try files.map { try write($0.name, roles: $0.roles) }
        let server = try world.server("callers: {file: callers.json}\nadmin: {callers_file: admins.json}\n")
        try await world.serving(server) { client throws in
            for (number, file) in files.enumerated() {
                #expect(try await client.get(file.path, secrets[number]).status == 200)
                let former = secrets[number]
                secrets[number] = try write(file.name, roles: file.roles)
                // What it does every two seconds.
                try await server.prepare()
                #expect(try await client.get(file.path, former).status == 401)
                #expect(try await client.get(file.path, secrets[number]).status == 200)
                try Data("{".utf8).write(to: world.folder.appending(path: file.name), options: .atomic)
                try await server.prepare()
                #expect(try await client.get(file.path, secrets[number]).status == 200)
            }
        }
    }

    @Test func `rules of the configuration are for callers of the code, unless it decides itself`() async throws {
        let world = try World()
        let rules = """
            version: 1
            rules:
              - {name: own, when: {issuer: acme, subject: driver-7}, grant: driver, for: {ids: [veh-3]}}
            """
        try Data(rules.utf8).write(to: world.folder.appending(path: "policy.yaml"))
        let ruled = try world.server("policy: {file: policy.yaml}\n")
        try await world.serving(ruled) { client throws in
            #expect(try await client.get("/token/driver/veh-3", "acme-session-7").status == 200)
            #expect(try await client.get("/token/driver/veh-4", "acme-session-7").status == 403)
        }
        let free = try world.server("policy: {file: policy.yaml}\n", policy: RolePolicy())
        try await world.serving(free) { client throws in
            #expect(try await client.get("/token/driver/veh-4", "acme-session-7").status == 200)
        }
    }

    @Test func `authenticators without a policy are warned of, unless it is meant so`() throws {
        let rules = "version: 1\nrules: [{name: own, when: {issuer: acme}, grant: driver, for: assigned}]"
        let cases: [(settings: String, policy: (any TokenPolicy)?, isWarned: Bool)] = [
            ("", nil, true), ("", RolePolicy(), false), ("", AcmeShifts { _, _ in true }, false),
            ("policy: {file: policy.yaml}\n", nil, false),
        ]
        for (settings, policy, isWarned) in cases {
            let world = try World()
            try Data(rules.utf8).write(to: world.folder.appending(path: "policy.yaml"))
            let log = LeakTests.Log()
            let logger = Logger(label: "test") { _ in LeakTests.Handler(log: log) }
            _ = try world.server(settings, policy: policy, logger: logger)
            #expect(log.contents.contains("whatever the id") == isWarned, "\(log.contents)")
        }
    }

    @Test func `the routes go into a server that is there`() async throws {
        let world = try World()
        let application = try await AcmeTokenServer.application(with: world.server())
        try await application.test(.live) { client in
            let shifts = try await client.execute(uri: "/shifts", method: .get)
            #expect(String(buffer: shifts.body) == "none")
            let granted = try await client.execute(
                uri: "/token/driver/veh-3", method: .get, headers: [.authorization: "Bearer acme-session-7"])
            #expect(granted.status == .ok)
            let keys = try await client.execute(uri: "/.well-known/jwks.json", method: .get)
            #expect(String(buffer: keys.body).contains("\"kid\""))
        }
    }

    @Test(arguments: [(ConnectionLimits().headerBytes, true), (2000, false)])
    func `a server that is there keeps to the limits of connections`(headerBytes: Int, isServed: Bool) async throws {
        let world = try World()
        let limits = ConnectionLimits(headerBytes: headerBytes)
        let application = try await AcmeTokenServer.application(with: world.server(), limits: limits)
        try await application.test(.live) { client in
            // A connection that is closed without an answer is refused as well.
            let answer = try? await client.execute(
                uri: "/shifts", method: .get, headers: [.userAgent: String(repeating: "a", count: 4000)])
            #expect((answer?.status == .ok) == isServed)
        }
    }

    @Test func `a store that cannot be used is told before anything listens`() async throws {
        let world = try World()
        let server = try world.server("store: {postgresql: 'postgresql://fleet:secret@127.0.0.1:1/none'}\n")
        let error = await #expect(throws: TokenServerError.self) { try await server.run() }
        #expect(error?.code == .storeUnreachable)
        #expect(error?.message.contains("secret") == false)
    }
}

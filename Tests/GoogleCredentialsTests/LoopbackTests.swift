// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation
import NIOCore
import NIOPosix
import Testing

@testable import GoogleCredentials

@Suite(.timeLimit(.minutes(1))) struct LoopbackTests {
    /// Runs a body with servers in place of Google's hosts.
    private func withServers(
        _ standIn: StandIn, _ body: (CredentialContext) async throws -> Void
    ) async throws {
        let origins = [
            "metadata.google.internal": "http://metadata.google.internal", "169.254.169.254": "http://169.254.169.254",
            "iamcredentials.googleapis.com": "https://iamcredentials.googleapis.com",
            "www.googleapis.com": "https://www.googleapis.com",
        ]
        var servers: [LoopbackServer] = []
        var overrides: [String: String] = [:]
        for (host, origin) in origins {
            let server = try await LoopbackServer.start(standIn, pretendingToBe: origin)
            servers.append(server)
            overrides[host] = server.origin
        }
        let context = CredentialContext(
            // Other tests keep the machine busy; an answer may take longer than a second.
            variables: ["GCE_METADATA_TIMEOUT": "20"], hostOverrides: overrides,
            retries: RetryPolicy(attempts: 2, limit: .seconds(20)),
            now: { Google.now })
        let result = await Result { try await body(context) }
        for server in servers { try await server.stop() }
        try result.get()
    }

    @Test func `over real connections, a token is minted without a key on disk`() async throws {
        let standIn = StandIn()
        try await self.withServers(standIn) { context in
            let credential = try await ApplicationDefaultCredentials(context: context).load()
            let signers = RoleSigners(
                [.driver: try await credential.signer(impersonating: Google.account)], now: { Google.now })
            let minted = try await signers.mint(.driver(VehicleID(checking: "veh-3")))
            let account = TrustedAccount(email: Google.account, role: .driver, provider: nil)
            let keys = try JWKS.read(JWKS.write([Google.key.get().publicKey()]), account: account)
            let examined = try TokenVerifier(keys: TrustedKeySet(keys))
                .verify(minted.token.compactSerialization, at: Google.now)
            #expect(examined.claims == minted.claims)
        }
        #expect(standIn.requests(to: ":signJwt").count == 1)
    }

    @Test func `a redirect is an error and is not followed`() async throws {
        let target = StandIn()
        let server = try await LoopbackServer.start(target, pretendingToBe: "http://target")
        let standIn = StandIn { _, _ in
            UpstreamResponse(status: 307, headers: [("Location", "\(server.origin)/stolen")])
        }
        try await self.withServers(standIn) { context in
            let credential = GoogleCredential(
                kind: .metadataServer, source: MetadataServer(context: context), context: context)
            let error = await #expect(throws: CredentialError.self) { try await credential.accessToken(scopes: []) }
            #expect(error?.code == .refused)
        }
        #expect(target.requests.isEmpty)
        try await server.stop()
    }

    @Test func `an answer that stops in its middle is given up`() async throws {
        let server = try await LoopbackServer.start(
            StandIn { _, _ in UpstreamResponse(status: 200, body: Array("half".utf8)) },
            pretendingToBe: "http://idp.example", promising: 1000)
        let request = UpstreamRequest(url: "\(server.origin)/keys", timeout: .milliseconds(500))
        let error = await #expect(throws: UpstreamError.self) {
            try await AsyncHTTPClientTransport().send(request)
        }
        #expect(error?.code == .timedOut)
        try await server.stop()
    }

    // One is too long; the other stops, after a time that is long enough for its head on a busy machine.
    @Test(arguments: [(2 << 20, nil, 50), (4, 1000, 3)])
    func `a refusal whose body does not come in full counts without it`(
        bytes: Int, promised: Int?, seconds: Int
    ) async throws {
        let refusal = UpstreamResponse(
            status: 503, headers: [("Retry-After", "7")], body: Array(repeating: 0x20, count: bytes))
        let server = try await LoopbackServer.start(
            StandIn { _, _ in refusal }, pretendingToBe: "http://idp.example", promising: promised)
        let request = UpstreamRequest(url: "\(server.origin)/keys", timeout: .seconds(seconds))
        let answer = try await AsyncHTTPClientTransport().send(request)
        #expect(answer.status == 503 && answer.header("Retry-After") == "7" && answer.body.isEmpty)
        try await server.stop()
    }

    @Test func `an answer without end and a server that is not there are errors`() async throws {
        let standIn = StandIn { _, _ in UpstreamResponse(status: 200, body: Array(repeating: 0x20, count: 2 << 20)) }
        try await self.withServers(standIn) { context in
            let metadata = MetadataServer(context: context)
            let error = await #expect(throws: CredentialError.self) { try await metadata.email() }
            #expect(error?.code == .invalidAnswer)
            #expect(error?.message == "The metadata server sent too long an answer: more than 1048576 bytes.")
        }
        let gone = CredentialContext(
            variables: [:], hostOverrides: ["metadata.google.internal": "http://127.0.0.1:1"],
            retries: RetryPolicy(attempts: 2))
        let error = await #expect(throws: CredentialError.self) { try await MetadataServer(context: gone).email() }
        #expect(error?.code == .unavailable)
        #expect(error?.message == "The metadata server could not be reached: the connection was refused.")
    }

    #if os(Linux)
        @Test func `a connection that does not come about is told with the time that it had`() async throws {
            // Nobody is let in, and one waits already, which is as many as may.
            let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .serverChannelOption(.backlog, value: 0)
                .serverChannelOption(.autoRead, value: false)
                .bind(host: "127.0.0.1", port: 0).get()
            let address = try #require(server.localAddress)
            let waiting = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connect(to: address).get()
            let request = UpstreamRequest(url: "http://127.0.0.1:\(address.port ?? 0)/keys", timeout: .seconds(50))
            let error = await #expect(throws: UpstreamError.self) {
                try await AsyncHTTPClientTransport().send(request)
            }
            #expect(error == UpstreamError(.timedOut, detail: "no connection within 5.0 seconds"))
            try await waiting.close()
            try await server.close()
        }
    #endif

    @Test(arguments: ["gone.pem", "empty.pem", "text.pem"])
    func `authorities that cannot be used are named by what fails for them`(name: String) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data().write(to: folder.appending(path: "empty.pem"))
        try Data("no certificate".utf8).write(to: folder.appending(path: "text.pem"))
        let file = folder.appending(path: name).path
        let standIn = StandIn { _, _ in UpstreamResponse(status: 200, body: []) }
        let server = try await LoopbackServer.start(standIn, pretendingToBe: "http://idp.example")
        let transport = AsyncHTTPClientTransport(authorities: file)
        let problem = "\(file), which SSL_CERT_FILE names, is not there, may not be read or has no certificate in PEM"
        #expect(AsyncHTTPClientTransport.problem(ofAuthorities: file) == problem)
        let secure = server.origin.replacing("http:", with: "https:")
        let error = await #expect(throws: UpstreamError.self) { try await transport.send(UpstreamRequest(url: secure)) }
        #expect(error?.code == .unreachable)
        #expect(error?.detail == problem)
        // Without TLS nobody needs them.
        #expect(try await transport.send(UpstreamRequest(url: server.origin)).status == 200)
        try await server.stop()
    }

    @Test(arguments: [nil, ""]) func `without a file of authorities the system's are used`(file: String?) {
        #expect(AsyncHTTPClientTransport.problem(ofAuthorities: file) == nil)
    }

    @Test func `the longest duration there is means no time limit`() async throws {
        let standIn = StandIn { _, _ in UpstreamResponse(status: 200, body: Array("there".utf8)) }
        let server = try await LoopbackServer.start(standIn, pretendingToBe: "http://idp.example")
        let request = UpstreamRequest(url: "\(server.origin)/keys", timeout: .seconds(Int64.max))
        #expect(try await AsyncHTTPClientTransport().send(request).body == Array("there".utf8))
        try await server.stop()
    }

    @Test func `a request says what sends it, unless it does itself`() async throws {
        let standIn = StandIn { _, _ in UpstreamResponse(status: 200, body: []) }
        let server = try await LoopbackServer.start(standIn, pretendingToBe: "http://idp.example")
        let transport = AsyncHTTPClientTransport()
        _ = try await transport.send(UpstreamRequest(url: server.origin))
        _ = try await transport.send(UpstreamRequest(url: server.origin, headers: [("user-agent", "acme/1")]))
        #expect(standIn.requests.map { $0.header("User-Agent") } == ["fleetpass", "acme/1"])
        try await server.stop()
    }

    @Test func `what may be sent twice is, where a kept connection is closed as it is used again`() async throws {
        let standIn = StandIn { _, _ in UpstreamResponse(status: 200, body: []) }
        let server = try await LoopbackServer.start(standIn, pretendingToBe: "http://hook.example", answering: 1)
        let transport = AsyncHTTPClientTransport(connectionsPerHost: 1)
        let question = UpstreamRequest(method: "POST", url: server.origin, body: [1], isIdempotent: true)
        // Each leaves an open connection, which answers no further request.
        for request in [UpstreamRequest(url: server.origin), question, UpstreamRequest(url: server.origin)] {
            #expect(try await transport.send(request).status == 200)
        }
        let order = UpstreamRequest(method: "POST", url: server.origin, body: [1])
        let error = await #expect(throws: UpstreamError.self) { try await transport.send(order) }
        #expect(error?.code == .unreachable)
        #expect(standIn.requests.count == 3)
        try await server.stop()
    }

    @Test func `a server is reached by an address of IPv6`() async throws {
        let standIn = StandIn { _, _ in UpstreamResponse(status: 200, body: Array("six".utf8)) }
        let server: LoopbackServer
        do {
            server = try await LoopbackServer.start(standIn, pretendingToBe: "http://idp.example", host: "::1")
        } catch {
            try Test.cancel("this machine has no address ::1")
        }
        let answer = try await AsyncHTTPClientTransport().send(UpstreamRequest(url: "\(server.origin)/keys"))
        #expect(answer.body == Array("six".utf8))
        try await server.stop()
    }

    @Test func `as many requests to one host are under way as connections are allowed`() async throws {
        let all = 20
        let arrived = Locked(0)
        let (waiting, go) = AsyncStream.makeStream(of: Void.self)
        let standIn = StandIn { _, _ in
            let count = arrived.withLock { count in
                count += 1
                return count
            }
            if count == all { go.finish() }
            // No answer before the last has come.
            for await _ in waiting {}
            return UpstreamResponse(status: 200, body: [])
        }
        let server = try await LoopbackServer.start(standIn, pretendingToBe: "http://hook.example")
        let transport = AsyncHTTPClientTransport(connectionsPerHost: all)
        try await withThrowingTaskGroup { group in
            for _ in 0..<all {
                group.addTask { try await transport.send(UpstreamRequest(url: server.origin, timeout: .seconds(50))) }
            }
            for try await answer in group { #expect(answer.status == 200) }
        }
        try await server.stop()
    }
}

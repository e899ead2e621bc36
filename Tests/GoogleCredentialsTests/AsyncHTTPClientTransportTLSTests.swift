// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import NIOSSL
import Testing

@testable import GoogleCredentials

@Suite(.timeLimit(.minutes(1))) struct AsyncHTTPClientTransportTLSTests {
    private let standIn = StandIn { _, _ in UpstreamResponse(status: 200, body: []) }

    @Test(arguments: ServerCertificate.KeyKind.allCases)
    func `a server is reached whatever kind of key its certificate has`(kind: ServerCertificate.KeyKind) async throws {
        let certificate = try ServerCertificate(kind)
        let server = try await LoopbackServer.start(
            self.standIn, pretendingToBe: "https://idp.example", tls: certificate.tls)
        let transport = AsyncHTTPClientTransport(authorities: certificate.file)
        #expect(try await transport.send(UpstreamRequest(url: server.origin)).status == 200)
        try await server.stop()
    }

    @Test(arguments: [
        ("http/1.1", "it wants a certificate of its client, which shows none"),
        ("h2", "it closed the connection before it had answered, as where it wants a certificate of its client"),
    ])
    func `it is told what a server wants that asks for a certificate of its client`(
        version: String, words: String
    ) async throws {
        let certificate = try ServerCertificate()
        var tls = certificate.tls
        tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(certificate.file))
        tls.certificateVerification = .noHostnameVerification
        tls.applicationProtocols = [version]
        let server = try await LoopbackServer.start(self.standIn, pretendingToBe: "https://idp.example", tls: tls)
        let transport = AsyncHTTPClientTransport(authorities: certificate.file)
        let error = await #expect(throws: UpstreamError.self) {
            try await transport.send(UpstreamRequest(url: server.origin))
        }
        #expect(error?.code == .unreachable)
        #expect(error?.detail == words)
        #expect(self.standIn.requests.isEmpty)
        try await server.stop()
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation
import NIOSSL
import Testing

@testable import GoogleCredentials

@Suite(.timeLimit(.minutes(1))) struct AsyncHTTPClientTransportTLSTests {
    private let standIn = StandIn { _, _ in UpstreamResponse(status: 200, body: []) }

    @Test(arguments: ServerCertificate.KeyKind.allCases, [TLSVersion.tlsv12, .tlsv13])
    func `a server is reached whatever kind of key its certificate has`(
        kind: ServerCertificate.KeyKind, version: TLSVersion
    ) async throws {
        let certificate = try ServerCertificate(kind)
        var tls = certificate.tls
        tls.minimumTLSVersion = version
        tls.maximumTLSVersion = version
        let server = try await LoopbackServer.start(self.standIn, pretendingToBe: "https://idp.example", tls: tls)
        let transport = AsyncHTTPClientTransport(authorities: certificate.file)
        #expect(try await transport.send(UpstreamRequest(url: server.origin)).status == 200)
        try await server.stop()
    }

    /// Why a server is not reached over TLS by a client that trusts a certificate.
    private func refusal(
        trusting certificate: ServerCertificate, tls: TLSConfiguration?
    ) async throws -> UpstreamError? {
        let server = try await LoopbackServer.start(self.standIn, pretendingToBe: "https://idp.example", tls: tls)
        let transport = AsyncHTTPClientTransport(authorities: certificate.file)
        let request = UpstreamRequest(url: server.origin.replacing("http:", with: "https:"))
        let error = await #expect(throws: UpstreamError.self) { try await transport.send(request) }
        #expect(self.standIn.requests.isEmpty)
        try await server.stop()
        return error
    }

    @Test func `it is told why a server's certificate is not taken, and where there is none`() async throws {
        let (good, other) = (try ServerCertificate(), try ServerCertificate(for: [127, 0, 0, 2]))
        let ended = try ServerCertificate(until: Date() - 60)
        let distrust =
            "its certificate is not trusted here, as where it has ended, the system's authorities are not installed, "
            + "or SSL_CERT_FILE does not have the one that signed it"
        for (trusted, tls, words) in [
            (other, other.tls, "its certificate is not for this name or address"), (ended, ended.tls, distrust),
            (good, other.tls, distrust), (good, nil, "it does not speak TLS, as on a port for plain HTTP"),
        ] {
            let error = try await self.refusal(trusting: trusted, tls: tls)
            #expect(error == UpstreamError(.unreachable, detail: words))
        }
    }

    @Test(arguments: [TLSVersion.tlsv1, .tlsv11]) func `versions of TLS that are no longer used are refused`(
        version: TLSVersion
    ) async throws {
        let certificate = try ServerCertificate()
        var tls = certificate.tls
        tls.minimumTLSVersion = version
        tls.maximumTLSVersion = version
        let error = try await self.refusal(trusting: certificate, tls: tls)
        #expect(error == UpstreamError(.unreachable, detail: "it speaks no TLS of version 1.2 or later"))
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
        let error = try await self.refusal(trusting: certificate, tls: tls)
        #expect(error == UpstreamError(.unreachable, detail: words))
    }
}

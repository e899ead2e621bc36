// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
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
}

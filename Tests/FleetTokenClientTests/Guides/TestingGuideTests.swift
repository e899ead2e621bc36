// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The lines of the guide "Test your app without Fleet Engine", and of the one about moving over from a sample fetcher.
struct TestingGuideTests {
    @Test func `an app survives a token server in trouble`() async throws {
        let clock = ManualClock()
        let server = ChaosTokenServer([.good], clock: clock)
        let tokens = try FleetTokenProvider(endpoint: .fleetpass(server.url), transport: server, clock: clock)
        let subject = try TokenSubject.driver(VehicleID(checking: "veh-3"))
        let first = try await tokens.token(for: subject)

        // From now on every connection breaks, and ten minutes before its end the token is still handed out.
        server.play(.always(.dropConnection))
        clock.advance(by: .seconds(50 * 60))
        #expect(try await tokens.token(for: subject) == first)
    }

    @Test func `an app shows that it has to wait`() async throws {
        let server = ChaosTokenServer([.status(429, retryAfter: .seconds(30))], clock: ManualClock())
        let tokens = try FleetTokenProvider(endpoint: .fleetpass(server.url), transport: server, clock: ManualClock())
        let error = await #expect(throws: TokenClientError.self) {
            try await tokens.token(for: .driver(VehicleID(checking: "veh-3")))
        }
        #expect(error?.code == .rateLimited)
        #expect(error?.retryAfter == .seconds(30))
    }

    @Test func `a client in any language meets the same server`() async throws {
        let listening = try ChaosTokenServer([.otherVehiclesToken]).listen()
        let url = listening.url.appending(path: "token/driver/veh-3")
        let (body, _) = try await URLSession.shared.data(from: url)
        #expect(!body.isEmpty)
    }

    @Test func `code that takes a provider runs without any server`() async throws {
        let subject = try TokenSubject.driver(VehicleID(checking: "veh-3"))
        let tokens = StubTokenProvider()
        #expect(try await tokens.token(for: subject) == TestTokens.token(for: subject))
    }
}

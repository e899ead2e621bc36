// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

/// The lines of the guide "Migrate from the sample fetcher" that take the place of a fetcher.
struct MigrationGuideTests {
    private struct Session: Sendable {
        func idToken() async throws -> String { "id-token" }
    }

    @Test func `one line and the app's credentials take the place of requests`() async throws {
        let (server, session) = (try #require(URL(string: "https://tokens.example.com")), Session())
        let tokens = try FleetTokenProvider(endpoint: .onDemand(server)) {
            [(name: "Authorization", value: "Bearer \(try await session.idToken())")]
        }
        #expect(tokens.metrics.fetches == 0)
    }

    @Test func `a server of one's own is described instead of parsed`() async throws {
        let server = try #require(URL(string: "https://tokens.example.com"))
        let answer = TokenAnswerFormat(
            tokenKey: "token",
            expiry: TokenAnswerFormat.Expiry(key: "expires", unit: .milliseconds, reference: .unixEpoch))
        let endpoint = try TokenEndpoint(server: server, path: "auth/{kind}/{id}", answer: answer)
        let url = try endpoint.url(for: .driver(VehicleID(checking: "veh 3")))
        #expect(url.absoluteString == "https://tokens.example.com/auth/driver/veh%203")
    }

    @Test func `calls for one vehicle share a fetch, and vehicles share nothing`() async throws {
        let server = ChaosTokenServer()
        let tokens = try FleetTokenProvider(endpoint: .fleetpass(server.url), transport: server)
        let (vehicle, other) = try (VehicleID(checking: "veh-3"), VehicleID(checking: "veh-4"))
        async let first = tokens.token(for: .driver(vehicle))
        async let second = tokens.token(for: .driver(vehicle))
        async let third = tokens.token(for: .driver(other))
        let all = try await [first, second, third]
        #expect(all[0] == all[1] && all[1] != all[2] && server.requests.count == 2)
    }

    @Test func `a refused token is replaced`() async throws {
        let server = ChaosTokenServer()
        let tokens = try FleetTokenProvider(endpoint: .fleetpass(server.url), transport: server)
        let vehicle = try VehicleID(checking: "veh-3")
        let token = try await tokens.token(for: .driver(vehicle))
        // The engine said 401 or 403, or gRPC's 7 or 16.
        tokens.invalidate(token, for: .driver(vehicle))
        _ = try await tokens.token(for: .driver(vehicle))
        #expect(server.requests.count == 2)
    }

    @Test func `a failure says what to do`() async throws {
        let server = ChaosTokenServer([.status(401)])
        let tokens = try FleetTokenProvider(endpoint: .fleetpass(server.url), transport: server)
        let vehicle = try VehicleID(checking: "veh-3")
        var isSignedIn = true
        do {
            _ = try await tokens.token(for: .driver(vehicle))
        } catch let error as TokenClientError where error.code == .refused {
            isSignedIn = false
        }
        #expect(!isSignedIn)
    }
}

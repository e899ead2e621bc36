// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngine
import FleetSigning
import FleetTestSupport
import FleetTokens
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

/// A verifier of the guide's: any text is a backend's token.
struct AnyTextVerifier: TokenVerifying {
    func verify(_ token: String, at now: Date) throws(TokenRefusal) -> ExaminedToken {
        let account = TrustedAccount(email: "backend@acme.example", role: .server, provider: ProviderID("acme"))
        let start = Int64(now.timeIntervalSince1970)
        let claims = TokenClaims(
            account: account.email, issuedAt: start - 300, expiresAt: start + 3300,
            authorization: try? TokenType.server.claims)
        return ExaminedToken(claims: claims, account: account, keyID: "any")
    }
}

/// The lines of the guide "Test against an engine in your process"; nothing here is visible but what is public.
struct EngineGuideTests {
    @Test func `an engine in a test goes by the test's own clock`() async throws {
        let clock = ManualClock()
        let start = Date(timeIntervalSince1970: 1_800_000_000)
        let now: @Sendable () -> Date = { start + clock.now.sinceStart / .seconds(1) }

        // An account of the test's own, which this engine trusts for one provider.
        let account = try ServiceAccountKey(generatingFor: "backend@acme.example", projectID: "acme")
        let key = try account.publicKey(role: .server, provider: ProviderID(checking: "acme"))
        let verifier = TokenVerifier(keys: TrustedKeySet([key]))
        let engine = Engine(store: MemoryStore(), verifier: verifier, now: now)

        let minter = TokenMinter(signer: try LocalSigner(account))
        let token = try await minter.mint(TokenType.server.claims, at: now()).token.compactSerialization
        let headers: HTTPFields = [.authorization: "Bearer \(token)"]
        let vehicle = ByteBuffer(
            string: """
                {"vehicleState": "ONLINE", "supportedTripTypes": ["EXCLUSIVE"], "maximumCapacity": 4,
                 "vehicleType": {"category": "AUTO"}}
                """)

        let router = Router()
        EngineRoutes(engine: engine).add(to: router)
        try await Application(router: router).test(.router) { client in
            let path = "/v1/providers/acme/vehicles"
            let created = try await client.execute(
                uri: "\(path)?vehicleId=veh-3", method: .post, headers: headers, body: vehicle)
            #expect(created.status == .ok)

            // Two hours later the token has ended, and the vehicle is still there for who has another.
            clock.advance(by: .seconds(7200))
            let late = try await client.execute(uri: "\(path)/veh-3", method: .get, headers: headers)
            #expect(late.status == .unauthorized)
            let next = try await minter.mint(TokenType.server.claims, at: now()).token.compactSerialization
            let found = try await client.execute(
                uri: "\(path)/veh-3", method: .get, headers: [.authorization: "Bearer \(next)"])
            #expect(found.status == .ok)
        }
    }

    @Test func `an engine in a test may take any text for a token`() async throws {
        let router = Router()
        EngineRoutes(engine: Engine(store: MemoryStore(), verifier: AnyTextVerifier())).add(to: router)
        try await Application(router: router).test(.router) { client in
            let answer = try await client.execute(
                uri: "/v1/providers/acme/vehicles", method: .get, headers: [.authorization: "Bearer any"])
            #expect(answer.status == .ok)
        }
    }

    @Test func `an engine in a test listens on a port of this machine`() async throws {
        let router = Router()
        let verifier = TokenVerifier(keys: TrustedKeySet([]))
        EngineRoutes(engine: Engine(store: MemoryStore(), verifier: verifier)).add(to: router)
        try await Application(router: router).test(.live) { client in
            #expect(client.port != nil)
            let answer = try await client.execute(uri: "/v1/providers/acme/vehicles", method: .get)
            #expect(answer.status == .unauthorized)
        }
    }
}

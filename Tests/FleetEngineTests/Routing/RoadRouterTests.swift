// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngine
import FleetEngineAPI
import FleetSigning
import FleetTokens
import Foundation
import Hummingbird
import HummingbirdTesting
import Testing

/// A router as somebody else writes one, with what is public alone.
@Suite struct RoadRouterTests {
    /// Knows every way that it was asked for: three kilometres in four minutes.
    private final class Detours: RoadRouter {
        private let asked = Locked<Set<RouteLeg>>([])

        func known(_ leg: RouteLeg) -> KnownRoad? {
            guard self.asked.withLock({ $0.contains(leg) }) else { return nil }
            return .way(RouteEstimate(meters: 3000, duration: .seconds(240), path: [leg.start, leg.end]))
        }

        func learn(_ legs: [RouteLeg]) async -> Bool {
            self.prepare(legs)
            return !legs.isEmpty
        }

        func prepare(_ legs: [RouteLeg]) { self.asked.withLock { $0.formUnion(legs) } }
    }

    @Test func `an engine goes by a router of somebody else's`() async throws {
        let account = try ServiceAccountKey(generatingFor: "backend@acme.example", projectID: "acme")
        let key = try account.publicKey(role: .server, provider: ProviderID(checking: "acme"))
        let engine = Engine(
            store: MemoryStore(), verifier: TokenVerifier(keys: TrustedKeySet([key])), router: Detours())
        let minter = TokenMinter(signer: try LocalSigner(account))
        let token = try await minter.mint(TokenType.server.claims, at: Date()).token.compactSerialization
        let router = Router()
        EngineRoutes(engine: engine).add(to: router)
        try await Application(router: router).test(.router) { client in
            func call(_ method: HTTPRequest.Method, _ path: String, _ body: String) async throws -> String {
                let answer = try await client.execute(
                    uri: "/v1/providers/acme/\(path)", method: method, headers: [.authorization: "Bearer \(token)"],
                    body: ByteBuffer(string: body))
                #expect(answer.status == .ok)
                return String(buffer: answer.body)
            }
            _ = try await call(
                .post, "vehicles?vehicleId=veh-1",
                """
                {"vehicleState": "ONLINE", "supportedTripTypes": ["EXCLUSIVE"], "maximumCapacity": 4,
                 "vehicleType": {"category": "AUTO"},
                 "lastLocation": {"location": {"latitude": 37.42, "longitude": -122.08}}}
                """)
            _ = try await call(
                .post, "trips?tripId=trip-1",
                """
                {"tripType": "EXCLUSIVE", "pickupPoint": {"point": {"latitude": 37.43, "longitude": -122.08}},
                 "numberOfPassengers": 1, "vehicleId": "veh-1", "tripStatus": "ENROUTE_TO_PICKUP"}
                """)
            let trip = try await call(.get, "trips/trip-1", "")
            #expect(trip.contains(#""remainingDistanceMeters":3000"#))
        }
    }
}

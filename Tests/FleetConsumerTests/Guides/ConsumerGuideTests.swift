// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetConsumer
import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Testing

// Within the suite that is serialised, because the SDK's shape has one setting for the whole app.
extension GMTCTripModelTests {
    /// The lines of the guide "Add tokens to your consumer app".
    @MainActor struct ConsumerGuideTests {
        /// What the guide's `ConsumerTokens` hold.
        private struct Tokens {
            let provider: FleetTokenProvider
            let authorization: FleetConsumerAuthorization

            init(_ server: ChaosTokenServer) throws {
                self.provider = try FleetTokenProvider(endpoint: .fleetpass(server.url), transport: server)
                self.authorization = FleetConsumerAuthorization(self.provider)
            }
        }

        /// What the guide's `ConsumerSession` says of the provider.
        private struct Session {
            var provider = "acme-fleet"
        }

        private func follow(_ trip: String, tokens: Tokens, session: Session = Session()) -> GMTCTripModel? {
            GMTCServices.setAccessTokenProvider(tokens.authorization, providerID: session.provider)
            let name = "providers/\(session.provider)/trips/\(trip)"
            let model = GMTCServices.shared().tripService.tripModel(forTripName: name)
            return model
        }

        @Test func `the lines of the guide give a model of the trip`() throws {
            let tokens = try Tokens(ChaosTokenServer())
            #expect(self.follow("trip-7", tokens: tokens)?.tripName == "providers/acme-fleet/trips/trip-7")
            #expect(self.follow("trip/7", tokens: tokens) == nil)
        }

        @Test func `a token that is fetched before the screen opens is there when it does`() async throws {
            let server = ChaosTokenServer()
            let tokens = try Tokens(server)
            let trip = try TripID(checking: "trip-7")
            try await tokens.provider.ensure(valid: .seconds(10 * 60), for: .consumer(trip))
            server.play(.always(.dropConnection))
            _ = try await tokens.authorization.fetchToken(with: GMTCAuthorizationContext(tripID: "trip-7"))
            #expect(server.requests.map(\.subject) == [.consumer(trip)])
        }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient

/// The tokens of a signed-in customer: one provider for as long as the session lasts.
struct ConsumerTokens: Sendable {
    let provider: FleetTokenProvider
    /// What the Consumer SDK asks before each question about a trip.
    let authorization: FleetConsumerAuthorization

    init(session: ConsumerSession) throws {
        self.provider = try FleetTokenProvider(endpoint: .fleetpass(session.tokenServer)) {
            [(name: "Authorization", value: "Bearer \(try await session.idToken())")]
        }
        self.authorization = FleetConsumerAuthorization(self.provider)
    }
}

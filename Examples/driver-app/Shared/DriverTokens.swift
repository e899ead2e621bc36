// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient

/// The tokens of a signed-in driver: one provider for as long as the session lasts.
struct DriverTokens: Sendable {
    let provider: FleetTokenProvider
    /// What the Driver SDK asks before each update.
    let authorization: FleetDriverAuthorization

    init(session: DriverSession) throws {
        self.provider = try FleetTokenProvider(endpoint: .fleetpass(session.tokenServer)) {
            [(name: "Authorization", value: "Bearer \(try await session.idToken())")]
        }
        self.authorization = FleetDriverAuthorization(self.provider)
    }
}

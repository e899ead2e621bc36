// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient

/// The tokens of a signed-in driver: one provider for as long as the session lasts.
struct DriverTokens: Sendable {
    let provider: FleetTokenProvider

    init(session: DriverSession) throws {
        self.provider = try FleetTokenProvider(endpoint: .fleetpass(session.tokenServer)) {
            [(name: "Authorization", value: "Bearer \(try await session.idToken())")]
        }
    }

    /// What the Driver SDK asks before each update.
    var authorization: FleetDriverAuthorization { FleetDriverAuthorization(self.provider) }
}

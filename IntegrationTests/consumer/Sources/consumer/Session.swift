// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

/// What an app knows of itself and of its user, for the example of the README.
struct Session: Sendable {
    var provider: ProviderID
    var tokenServer: URL
    var engine: URL
    var idToken: @Sendable () async throws -> String
}

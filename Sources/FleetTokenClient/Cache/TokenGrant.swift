// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetTokens

/// A token that was checked against what was asked, and how long it may be used.
package struct TokenGrant: Sendable {
    /// The token.
    package let token: FleetToken
    /// The token's fingerprint, computed once because it goes into every notice.
    package let fingerprint: String
    /// The token's life, counted from the start of the request that brought it.
    package let life: Duration
    /// When the server would like to be asked again, counted from the start of the request.
    package let refreshAfter: Duration?

    /// Makes a grant.
    package init(token: FleetToken, life: Duration, refreshAfter: Duration? = nil) {
        self.token = token
        self.fingerprint = token.fingerprint
        self.life = life
        self.refreshAfter = refreshAfter
    }
}

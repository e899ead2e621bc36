// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetTokens

/// The token that was sent last, and what the engine made of it: what tells a 403 after a token change from any other.
package struct LastToken: Sendable {
    /// The token, or `nil` before the first.
    package private(set) var token: FleetToken?
    /// Whose token a 403 had renewed since the last success, whether another one came of it or not.
    private var renewed: TokenSubject?

    /// Begins with nothing sent.
    package init() {}

    /// Whether another token may help where the engine answers this one with 403.
    ///
    /// It cannot where the token was sent before, nor where it came in place of one that was refused with 403. That may
    /// have been a call ago: a token server that signs the same bytes within a second has no other token until then.
    func mayRenew(_ token: FleetToken, for subject: TokenSubject) -> Bool {
        token != self.token && subject != self.renewed
    }

    /// Takes note of how a call went.
    package mutating func take(_ answer: EngineAnswer) {
        self.token = answer.token ?? self.token
        switch answer.result {
        case .success: self.renewed = nil
        case .failure: self.renewed = answer.renewed ?? self.renewed
        }
    }
}

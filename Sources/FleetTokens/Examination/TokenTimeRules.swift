// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// The time rules of a Fleet Engine token (JWT guide), and the clock slack allowed on top.
public struct TokenTimeRules: Hashable, Sendable {
    /// How far `iat` may lie ahead of the verifier's clock: 10 minutes.
    public var issuedAtTolerance: Duration
    /// How far ahead `exp` may lie: 1 hour.
    public var maximumLifetime: Duration
    /// Slack on `exp` in both directions; zero, as the service documents none.
    public var leeway: Duration

    /// Makes rules; the defaults are the documented ones.
    public init(
        issuedAtTolerance: Duration = .seconds(600),
        maximumLifetime: Duration = .seconds(3600),
        leeway: Duration = .zero
    ) {
        self.issuedAtTolerance = issuedAtTolerance
        self.maximumLifetime = maximumLifetime
        self.leeway = leeway
    }
}

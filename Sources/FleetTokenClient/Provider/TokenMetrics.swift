// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// What a provider did since it was made; a snapshot to be read now and then.
public struct TokenMetrics: Hashable, Sendable {
    /// How many calls of ``TokenProvider/token(for:)`` got a token at once.
    public var hits = 0
    /// How many had to wait for a fetch, whatever came of it.
    public var waits = 0
    /// How long they waited altogether; for a reporter, the age that its locations gained by waiting for tokens.
    public var waited = Duration.zero
    /// The longest of these waits.
    public var longestWait = Duration.zero
    /// How many fetches brought a token that was kept.
    public var fetches = 0
    /// How many fetches failed.
    public var failures = 0
    /// How many tokens the engine refused.
    public var refusals = 0

    /// Nothing done yet.
    public init() {}

    /// Counts the end of a call; without a wait it ended where it began.
    mutating func count(_ outcome: TokenCacheMachine.Outcome, wait: Duration?) {
        guard let wait else {
            if case .token = outcome { self.hits += 1 }
            return
        }
        self.waits += 1
        self.waited += wait
        self.longestWait = max(self.longestWait, wait)
    }

    mutating func count(_ event: TokenEvent) {
        switch event {
        case .fetched, .refreshed: self.fetches += 1
        case .failed: self.failures += 1
        case .refused: self.refusals += 1
        case .restored, .servedStale, .clockError, .storeFailed: break
        }
    }
}

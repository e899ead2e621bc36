// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

/// The record behind ``EngineActivity``.
struct ActivityLog: Sendable {
    /// Keyed by what the token says: RS256 is deterministic, so equal claims and key are the same token.
    private(set) var tokens: [ExaminedToken: EngineActivity.TokenUse] = [:]
    private(set) var refusals: [EngineActivity.Refusal] = []
    private let maximumTokens: Int
    private let maximumRefusals: Int

    init(maximumTokens: Int, maximumRefusals: Int) {
        self.maximumTokens = max(1, maximumTokens)
        self.maximumRefusals = max(1, maximumRefusals)
    }

    /// Counts a use of a token, or is false for one that is not remembered.
    mutating func use(_ token: ExaminedToken, _ method: FleetMethod, at now: Date) -> Bool {
        guard let index = self.tokens.index(forKey: token) else { return false }
        self.tokens.values[index].lastUse = now
        self.tokens.values[index].lastMethod = method
        self.tokens.values[index].count += 1
        return true
    }

    /// Remembers a token.
    mutating func remember(_ use: EngineActivity.TokenUse, of token: ExaminedToken) {
        guard !self.use(token, use.lastMethod, at: use.lastUse) else { return }
        if self.tokens.count >= self.maximumTokens { self.forgetTokens() }
        self.tokens[token] = use
    }

    /// Remembers a refusal.
    mutating func remember(_ refusal: EngineActivity.Refusal) {
        if self.refusals.count >= self.maximumRefusals { self.refusals.removeFirst() }
        self.refusals.append(refusal)
    }

    /// Drops the least recently used eighth at once, so that a full record costs little for each new token.
    private mutating func forgetTokens() {
        let oldest = self.tokens.sorted { $0.value.lastUse < $1.value.lastUse }.prefix(max(1, self.maximumTokens / 8))
        for (token, _) in oldest { self.tokens[token] = nil }
    }
}

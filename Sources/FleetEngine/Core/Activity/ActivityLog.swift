// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

/// The record behind ``EngineActivity``.
struct ActivityLog: Sendable {
    /// Keyed by what the token says: RS256 is deterministic, so equal claims and key are the same token.
    private(set) var tokens: [ExaminedToken: EngineActivity.TokenUse] = [:]
    private(set) var issues: [EngineActivity.Issue] = []
    private(set) var refusals: [EngineActivity.Refusal] = []
    private var refusalCount = 0
    private var explanations = (second: Int64.min, count: 0)
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

    /// Remembers that a token was issued, and which token of the same role, provider and claims it replaces before its
    /// end.
    ///
    /// While more than half of the former one's life is left, the new one is taken for another app's.
    mutating func remember(_ issue: EngineActivity.Issue) {
        var issue = issue
        let former = self.issues.last { former in
            former.role == issue.role && former.provider == issue.provider && former.claims == issue.claims
                && former.isRefreshed(at: issue.time)
        }
        issue.replaced = former?.fingerprint
        if self.issues.count >= self.maximumTokens { self.issues.removeFirst() }
        self.issues.append(issue)
    }

    /// Whether one more refusal may be explained in this second: an explanation costs another signature check.
    mutating func mayExplain(at now: Date, perSecond limit: Int) -> Bool {
        let second = Int64(now.timeIntervalSince1970)
        if self.explanations.second != second { self.explanations = (second, 0) }
        self.explanations.count += 1
        return self.explanations.count <= limit
    }

    /// Remembers a refusal.
    mutating func remember(_ refusal: EngineActivity.Refusal) {
        var refusal = refusal
        self.refusalCount += 1
        refusal.sequence = self.refusalCount
        if self.refusals.count >= self.maximumRefusals { self.refusals.removeFirst() }
        self.refusals.append(refusal)
    }

    /// Drops the least recently used eighth at once, so that a full record costs little for each new token.
    private mutating func forgetTokens() {
        let oldest = self.tokens.sorted { $0.value.lastUse < $1.value.lastUse }.prefix(max(1, self.maximumTokens / 8))
        for (token, _) in oldest { self.tokens[token] = nil }
    }
}

extension EngineActivity.Issue {
    /// Whether a token that is issued now takes over from this one.
    fileprivate func isRefreshed(at now: Date) -> Bool {
        let left = self.expiry.timeIntervalSince(now)
        return left > 0 && left < self.expiry.timeIntervalSince(self.time) / 2
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
public import FleetTokens
public import Foundation

/// What the engine remembers of its callers, for a page that shows it: tokens issued, tokens in use, and calls refused.
///
/// Each list is bounded, and none holds a token.
public final class EngineActivity: Sendable {
    private static let explanationsPerSecond = 20
    private let log: Locked<ActivityLog>

    /// Makes an empty record.
    ///
    /// - Parameters:
    ///   - maximumTokens: How many tokens are remembered; the least recently used are dropped.
    ///   - maximumRefusals: How many refusals are remembered; the oldest are dropped.
    public init(maximumTokens: Int = 1000, maximumRefusals: Int = 200) {
        self.log = Locked(ActivityLog(maximumTokens: maximumTokens, maximumRefusals: maximumRefusals))
    }

    /// What is remembered now.
    public func snapshot() -> Snapshot {
        // The lock is held for a copy only; sorting happens outside.
        let log = self.log.withLock { $0 }
        return Snapshot(
            tokens: log.tokens.values.sorted { $0.lastUse > $1.lastUse },
            issues: log.issues.reversed(),
            refusals: log.refusals.reversed()
        )
    }

    /// Notes that a token server issued a token, where one tells.
    ///
    /// - Parameters:
    ///   - fingerprint: The token's fingerprint.
    ///   - role: The role of the account that signed.
    ///   - provider: The provider of the account.
    ///   - claims: What the token reaches.
    ///   - expiry: When the token ends.
    ///   - now: When it was issued.
    public func noteIssue(
        fingerprint: String, role: Role, provider: ProviderID, claims: AuthorizationClaims, expiry: Date, at now: Date
    ) {
        let issue = Issue(
            fingerprint: fingerprint, role: role.rawValue, provider: provider, claims: claims.summary,
            subject: Subject(claims), time: now, expiry: expiry, replaced: nil)
        self.log.withLock { $0.remember(issue) }
    }

    func admit(_ token: ExaminedToken, _ text: String, to method: FleetMethod, at now: Date) {
        let isKnown = self.log.withLock { $0.use(token, method, at: now) }
        guard !isKnown else { return }
        // A hash of the whole token is worth its while only once for each.
        let use = TokenUse(token, fingerprint: TokenVerifier.fingerprint(of: text), method: method, now: now)
        self.log.withLock { $0.remember(use, of: token) }
    }

    /// Remembers a refusal, with an explanation unless there were many in the same second.
    func refuse(
        _ refusal: TokenRefusal, _ call: RefusedCall, at now: Date, explain: (String) -> TokenExplanation
    ) {
        let fingerprint = call.text.flatMap(Self.fingerprint)
        let isExplained =
            fingerprint != nil
            && self.log.withLock { $0.mayExplain(at: now, perSecond: Self.explanationsPerSecond) }
        let entry = Refusal(
            time: now, method: call.method, refusal: refusal, fingerprint: fingerprint, token: call.token,
            request: call.request, explanation: isExplained ? call.text.map(explain) : nil)
        self.log.withLock { $0.remember(entry) }
    }

    /// A call that is refused, as far as it was read.
    struct RefusedCall {
        let method: FleetMethod
        /// The token as it was received, if any.
        let text: String?
        /// The token, where it is good.
        var token: ExaminedToken?
        /// What is addressed, where that was read.
        var request: AccessRequest?
        /// The rules that depend on what was not read.
        var unread: Set<TokenRule> = []
    }

    /// The fingerprint of a refused token; none for one that is too long to be read, let alone hashed.
    private static func fingerprint(_ text: String) -> String? {
        text.utf8.count <= CompactJWS.maximumBytes ? FleetToken(text).fingerprint : nil
    }
}

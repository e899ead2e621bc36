// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
public import Foundation

/// What the engine remembers of its callers, for a page that shows it: tokens in use, and calls refused.
///
/// Both lists are bounded, and neither holds a token.
public final class EngineActivity: Sendable {
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
            tokens: log.tokens.values.sorted { $0.lastUse > $1.lastUse }, refusals: log.refusals.reversed()
        )
    }

    func admit(_ token: ExaminedToken, _ text: String, to method: FleetMethod, at now: Date) {
        let isKnown = self.log.withLock { $0.use(token, method, at: now) }
        guard !isKnown else { return }
        // A hash of the whole token is worth its while only once for each.
        let use = TokenUse(token, fingerprint: FleetToken(text).fingerprint, method: method, now: now)
        self.log.withLock { $0.remember(use, of: token) }
    }

    func refuse(_ refusal: TokenRefusal, _ text: String?, _ token: ExaminedToken?, method: FleetMethod, at now: Date) {
        let entry = Refusal(
            time: now, method: method, reason: refusal.reason.rawValue, message: refusal.message,
            fingerprint: text.flatMap(Self.fingerprint), claims: token.map(TokenUse.claims),
            account: token?.account.email
        )
        self.log.withLock { $0.remember(entry) }
    }

    /// The fingerprint of a refused token; none for one that is too long to be read, let alone hashed.
    private static func fingerprint(_ text: String) -> String? {
        text.utf8.count <= CompactJWS.maximumBytes ? FleetToken(text).fingerprint : nil
    }
}

extension EngineActivity {
    /// A copy of the record.
    public struct Snapshot: Hashable, Sendable {
        /// The tokens that were let in, the last used first.
        public let tokens: [TokenUse]
        /// The calls that were refused, the last first.
        public let refusals: [Refusal]
    }

    /// One token and what was done with it.
    public struct TokenUse: Hashable, Sendable {
        /// The token's fingerprint.
        public let fingerprint: String
        /// The claims on one line.
        public let claims: String
        /// The account that signed.
        public let account: String
        /// The account's role.
        public let role: String
        /// When the token ends.
        public let expiry: Date
        /// When it was last used.
        public internal(set) var lastUse: Date
        /// The method it was last used for.
        public internal(set) var lastMethod: FleetMethod
        /// How many calls it was used for.
        public internal(set) var count: Int

        init(_ token: ExaminedToken, fingerprint: String, method: FleetMethod, now: Date) {
            self.fingerprint = fingerprint
            self.claims = Self.claims(token)
            self.account = token.account.email
            self.role = token.account.role?.rawValue ?? ""
            self.expiry = Date(timeIntervalSince1970: TimeInterval(token.claims.expiresAt))
            self.lastUse = now
            self.lastMethod = method
            self.count = 1
        }

        static func claims(_ token: ExaminedToken) -> String { token.claims.authorization?.summary ?? "{}" }
    }

    /// One call that was refused because of its token.
    public struct Refusal: Hashable, Sendable {
        /// When it was refused.
        public let time: Date
        /// What was called.
        public let method: FleetMethod
        /// The bounded name of the reason.
        public let reason: String
        /// The reason in words.
        public let message: String
        /// The token's fingerprint, where the call carried one.
        public let fingerprint: String?
        /// The claims, where the token itself was good.
        public let claims: String?
        /// The account that signed, where the token itself was good.
        public let account: String?
    }
}

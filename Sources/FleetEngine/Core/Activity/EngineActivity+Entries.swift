// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
public import Foundation

extension EngineActivity {
    /// A copy of the record.
    public struct Snapshot: Hashable, Sendable {
        /// The tokens that were let in, the last used first.
        public let tokens: [TokenUse]
        /// The tokens that a token server told of, the last issued first.
        public let issues: [Issue]
        /// The calls that were refused, the last first.
        public let refusals: [Refusal]
    }

    /// One token and what was done with it.
    public struct TokenUse: Hashable, Sendable {
        /// The token's fingerprint.
        public let fingerprint: String
        /// What the token says; it is put into words only for those who look.
        private let token: ExaminedToken
        /// The claims on one line.
        public var claims: String { Self.claims(self.token) }
        /// What the token reaches.
        public var subject: Subject { Subject(self.token.claims.authorization) }
        /// The account's role.
        public var role: String { self.token.account.role?.rawValue ?? "" }
        /// The account's provider.
        public var provider: ProviderID? { self.token.account.provider }
        /// When the token ends.
        public var expiry: Date { Date(timeIntervalSince1970: TimeInterval(self.token.claims.expiresAt)) }
        /// When it was first used.
        public let firstUse: Date
        /// When it was last used.
        public internal(set) var lastUse: Date
        /// The method it was last used for.
        public internal(set) var lastMethod: FleetMethod
        /// How many calls it was used for.
        public internal(set) var count: Int

        init(_ token: ExaminedToken, fingerprint: String, method: FleetMethod, now: Date) {
            self.fingerprint = fingerprint
            self.token = token
            self.firstUse = now
            self.lastUse = now
            self.lastMethod = method
            self.count = 1
        }

        static func claims(_ token: ExaminedToken) -> String { token.claims.authorization?.summary ?? "{}" }
    }

    /// One token that was issued.
    public struct Issue: Hashable, Sendable {
        /// The token's fingerprint.
        public let fingerprint: String
        /// The role of the account that signed.
        public let role: String
        /// The provider of the account that signed.
        public let provider: ProviderID
        /// The claims on one line.
        public let claims: String
        /// What the token reaches.
        public let subject: Subject
        /// When it was issued.
        public let time: Date
        /// When the token ends.
        public let expiry: Date
        /// The fingerprint of the token before it, where that had not ended: this one refreshed it.
        public internal(set) var replaced: String?
    }

    /// One call that was refused because of its token.
    public struct Refusal: Hashable, Sendable {
        /// Counts the refusals from 1.
        public internal(set) var sequence = 0
        /// When it was refused.
        public let time: Date
        /// What was called.
        public let method: FleetMethod
        /// Why, and how to mend it.
        public let refusal: TokenRefusal
        /// The token's fingerprint, where the call carried one.
        public let fingerprint: String?
        /// The claims, where the token itself was good.
        public let claims: String?
        /// What the token reaches, where the token itself was good.
        public let subject: Subject?
        /// The account that signed, where the token itself was good.
        public let account: String?
        /// What the call addresses, where that was read.
        public let addressed: Subject?
        /// The provider of the account, or else of what the call addresses; `nil` where neither is known.
        public let provider: ProviderID?
        /// Every check of the token; `nil` where there was no token, or where refusals came too fast.
        public let explanation: TokenExplanation?

        /// The bounded name of the reason.
        public var reason: String { self.refusal.reason.rawValue }
        /// The reason in words.
        public var message: String { self.refusal.message }

        init(
            time: Date, method: FleetMethod, refusal: TokenRefusal, fingerprint: String?, token: ExaminedToken?,
            request: AccessRequest?, explanation: TokenExplanation?
        ) {
            self.time = time
            self.method = method
            self.refusal = refusal
            self.fingerprint = fingerprint
            self.claims = token.map(TokenUse.claims)
            self.subject = token.map { Subject($0.claims.authorization) }
            self.account = token?.account.email
            self.addressed = request.map { Subject(addressedBy: $0) }
            self.provider = token?.account.provider ?? request?.provider
            self.explanation = explanation
        }
    }
}

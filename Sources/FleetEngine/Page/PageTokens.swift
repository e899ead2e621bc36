// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

/// A token's life as far as it was seen: issued, used, refreshed; the token itself is not known here.
struct PageToken: Encodable, Hashable, Sendable {
    let fingerprint: String
    let role: String
    let claims: String
    let subject: PageSubject
    /// When a token server told of it.
    var issued: Int64?
    /// The token before it, which had not ended.
    var replaced: String?
    var expires: Int64
    var firstUse: Int64?
    var lastUse: Int64?
    var lastMethod: String?
    var count = 0

    /// How tokens are named among the kinds of which there are more than are shown.
    static let collection = "token"

    /// The tokens that were used or issued last.
    ///
    /// - Parameters:
    ///   - limit: How many there are at most.
    ///   - activity: What the engine remembers.
    ///   - provider: Whose tokens.
    /// - Returns: The tokens by fingerprint, and whether there are more.
    static func latest(
        _ limit: Int, in activity: EngineActivity.Snapshot, of provider: ProviderID
    ) -> (shown: [String: PageToken], areMore: Bool) {
        let uses = activity.tokens.filter { $0.provider == provider }
        let issues = activity.issues.filter { $0.provider == provider }
        let times = uses.map { ($0.fingerprint, $0.lastUse) } + issues.map { ($0.fingerprint, $0.time) }
        let last = Dictionary(times, uniquingKeysWith: max)
        // Only those that are shown are put into words.
        let chosen = Set(last.sorted { ($0.value, $0.key) > ($1.value, $1.key) }.prefix(limit).map(\.key))
        var tokens: [String: PageToken] = [:]
        for use in uses where chosen.contains(use.fingerprint) {
            var token = PageToken(
                fingerprint: use.fingerprint, role: use.role, claims: use.claims, subject: PageSubject(use.subject),
                expires: use.expiry.milliseconds)
            token.firstUse = use.firstUse.milliseconds
            token.lastUse = use.lastUse.milliseconds
            token.lastMethod = use.lastMethod.name
            token.count = use.count
            tokens[use.fingerprint] = token
        }
        for issue in issues where chosen.contains(issue.fingerprint) {
            var token =
                tokens[issue.fingerprint]
                ?? PageToken(
                    fingerprint: issue.fingerprint, role: issue.role, claims: issue.claims,
                    subject: PageSubject(issue.subject), expires: issue.expiry.milliseconds)
            token.issued = issue.time.milliseconds
            token.replaced = issue.replaced
            tokens[issue.fingerprint] = token
        }
        return (tokens, last.count > limit)
    }
}

/// A resource that a token reaches or a call addresses.
struct PageSubject: Encodable, Hashable, Sendable {
    let kind: String
    let id: String

    init(_ subject: EngineActivity.Subject) {
        self.kind = subject.kind.rawValue
        self.id = subject.id
    }
}

/// A refused call with every check of its token.
struct PageRefusal: Encodable, Hashable, Sendable {
    struct Check: Encodable, Hashable, Sendable {
        let rule: String
        let outcome: String
        let detail: String
        var reason: String?
        var fix: String?
    }

    let id: String
    let time: Int64
    let method: String
    let status: Int
    let reason: String
    let message: String
    let fix: String
    let fingerprint: String?
    let claims: String?
    let subject: PageSubject?
    let addressed: PageSubject?
    let account: String?
    /// Empty where nothing was explained.
    let checks: [Check]

    init(_ refusal: EngineActivity.Refusal) {
        let time = refusal.time.milliseconds
        self.time = time
        self.method = refusal.method.name
        self.status = refusal.refusal.status == .unauthenticated ? 401 : 403
        self.reason = refusal.reason
        self.message = refusal.message
        self.fix = refusal.refusal.fix
        self.fingerprint = refusal.fingerprint
        self.claims = refusal.claims
        self.subject = refusal.subject.map(PageSubject.init)
        self.addressed = refusal.addressed.map(PageSubject.init)
        self.account = refusal.account
        self.checks = refusal.explanation?.checks.map(Check.init) ?? []
        self.id = "\(refusal.sequence)"
    }
}

extension PageRefusal.Check {
    init(_ check: TokenCheck) {
        self.rule = check.rule.rawValue
        switch check.outcome {
        case .passed(let found):
            (self.outcome, self.detail) = ("passed", found)
        case .refused(let refusal):
            (self.outcome, self.detail) = ("refused", refusal.message)
            (self.reason, self.fix) = (refusal.reason.rawValue, refusal.fix)
        case .notReached(let why):
            (self.outcome, self.detail) = ("notReached", why)
        }
    }
}

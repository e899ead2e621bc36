// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Every check of a token against a call, in order, with the reason of each refusal and how to mend it.
public struct TokenExplanation: Hashable, Sendable {
    /// The checks, one for each ``TokenRule``.
    public let checks: [TokenCheck]
    /// The payload, where it could be read; not vouched for unless the signature check passed.
    public let claims: TokenClaims?
    /// What departs from the documentation though the service lets it pass, as far as the token could be read.
    public let deviations: DeviationSet

    /// The first refusal, which is the one the engine answers with; `nil` also where a check was not reached.
    public var refusal: TokenRefusal? {
        for check in self.checks {
            if case .refused(let refusal) = check.outcome { return refusal }
        }
        return nil
    }

    /// Whether the call is allowed: every check was reached and passed.
    ///
    /// ``TokenRule/revocation`` may be left out: where nobody can withdraw tokens there is nobody to ask.
    public var isAllowed: Bool {
        self.checks.allSatisfy { check in
            switch check.outcome {
            case .passed: true
            case .refused: false
            case .notReached: check.rule == .revocation
            }
        }
    }

    /// The same, with some rules not judged after all.
    package func leavingOut(_ rules: Set<TokenRule>, why: String) -> Self {
        TokenExplanation(
            checks: self.checks.map { check in
                rules.contains(check.rule) ? TokenCheck(rule: check.rule, outcome: .notReached(why)) : check
            },
            claims: self.claims, deviations: self.deviations)
    }
}

extension TokenExaminer {
    /// Explains what becomes of a token.
    ///
    /// Unlike ``examine(_:keys:now:)`` it goes on after a refusal, so that all faults show at once.
    ///
    /// - Parameters:
    ///   - token: The compact JWS.
    ///   - request: The call it is sent with; `nil` looks at the token alone, and refuses one without claims that opens
    ///     no call at all.
    ///   - keys: The keys that are trusted; `nil` leaves out signature, role and provider.
    ///   - now: The time to judge by.
    /// - Returns: One check for each rule, whether it was reached or not; of withdrawals nothing is known here.
    public func explain(
        _ token: String, request: AccessRequest?, keys: (any TokenKeys)?, now: Date
    ) -> TokenExplanation {
        self.explain(token, request: request, keys: keys, now: now, isWithdrawn: nil)
    }

    /// Explains what becomes of a token; `isWithdrawn` tells whether it is withdrawn, by itself or with its key, by the
    /// ids of the key as the token and as the verifier name it.
    package func explain(
        _ token: String, request: AccessRequest?, keys: (any TokenKeys)?, now: Date,
        isWithdrawn: ((_ keyID: String?, _ trustedKeyID: String?) -> Bool)?
    ) -> TokenExplanation {
        var recorder = CheckRecorder(mode: .explain)
        // A throw means that nothing further can be looked at; the recorder holds the refusal.
        let examination = try? self.examine(token, keys: keys, now: now, recording: &recorder)
        if let examination {
            if let isWithdrawn {
                if isWithdrawn(examination.keyID, examination.trustedKeyID) {
                    _ = recorder.refuse(.revocation, .revoked)
                } else {
                    recorder.pass(.revocation, found: "not withdrawn")
                }
            } else {
                recorder.skip(.revocation, why: "withdrawals are not looked at")
            }
        }
        if let examination {
            if let request {
                Self.explainAccess(of: examination, to: request, recording: &recorder)
            } else {
                Self.explainLackOfClaims(in: examination, recording: &recorder)
            }
        }
        let reached = Dictionary(recorder.checks.map { ($0.rule, $0) }) { first, second in
            // A rule may be looked at in two places; a refusal outweighs a pass.
            if case .passed = first.outcome { second } else { first }
        }
        let why = examination == nil ? "an earlier check stopped the reading" : "no call was given"
        return TokenExplanation(
            checks: TokenRule.allCases.map { reached[$0] ?? TokenCheck(rule: $0, outcome: .notReached(why)) },
            claims: examination?.claims,
            deviations: examination.map { $0.deviations(at: now) } ?? recorder.deviations
        )
    }

    /// Refuses a token that reaches nothing, whatever it is sent with.
    private static func explainLackOfClaims(in examination: Examination, recording recorder: inout CheckRecorder) {
        let claims = examination.claims.authorization
        guard let account = examination.account, account.isGranted, claims?.isEmpty ?? true,
            !AccessRequest.isAnyAllowedWithoutClaims(account.permissions)
        else { return }
        _ = recorder.refuse(.coverage, .claimsMissing(claims))
    }

    private static func explainAccess(
        of examination: Examination, to request: AccessRequest, recording recorder: inout CheckRecorder
    ) {
        func record(_ rule: TokenRule, found: String, _ body: () throws(TokenRefusal) -> Void) {
            do throws(TokenRefusal) {
                try body()
                recorder.pass(rule, found: found)
            } catch {
                _ = recorder.refuse(rule, error)
            }
        }
        let account = examination.account
        let isGranted = account?.isGranted ?? false
        if let account, isGranted {
            let role = account.role?.rawValue
            record(.role, found: role ?? "permissions of its own") { () throws(TokenRefusal) in }
            record(.permission, found: "\(role ?? "the account") may call \(request.method.name)") {
                () throws(TokenRefusal) in
                try request.checkPermission(of: account.role, permitting: account.permissions, rows: request.rows)
            }
        } else {
            recorder.skip(.role, why: "the keys do not say which role the account holds")
            recorder.skip(.permission, why: "the keys do not say which role the account holds")
        }
        if account?.provider != nil {
            record(.provider, found: request.provider.value) { () throws(TokenRefusal) in
                try request.checkProvider(of: account)
            }
        } else {
            recorder.skip(.provider, why: "the keys do not say which provider the account belongs to")
        }
        let claims = examination.claims.authorization
        guard isGranted || claims?.isEmpty == false else {
            let why = "there are no claims, and the keys do not say whether the account needs any"
            return recorder.skip(.coverage, why: claims?.spellingFix.map { "\(why). \($0)" } ?? why)
        }
        record(.coverage, found: "the claims reach it") { () throws(TokenRefusal) in
            try request.checkCoverage(of: claims, permitting: account?.permissions ?? [], rows: request.rows)
        }
    }
}

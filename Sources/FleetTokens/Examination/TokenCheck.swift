// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// One rule a token must meet, in the order in which they are checked.
public enum TokenRule: String, CaseIterable, Sendable {
    /// The token is not longer than ``CompactJWS/maximumBytes``.
    case size
    /// It has three parts.
    case form
    /// The parts are strict base64url.
    case encoding
    /// The header is strict JSON without repeated keys.
    case header
    /// `alg` is RS256.
    case algorithm
    /// `typ`, where present, is JWT.
    case type
    /// `crit` is absent.
    case critical
    /// `kid` names a trusted key, or the issuer has one.
    case key
    /// The signature fits that key.
    case signature
    /// The payload is strict JSON with the claims of a Fleet Engine token.
    case payload
    /// The `authorization` object follows its combination rules.
    case claims
    /// `iss` and `sub` are the account that owns the key.
    case issuer
    /// `aud` is Fleet Engine.
    case audience
    /// `iat` is at most 10 minutes off, and no older than a token can be.
    case issuedAt
    /// `exp` has not passed.
    case expiry
    /// `exp` is at most an hour ahead.
    case expiryCeiling
    /// Neither the token nor its key was withdrawn before its end.
    case revocation
    /// The signing account holds a role.
    case role
    /// The signing account belongs to the provider of the request.
    case provider
    /// The role has the permissions of the method and the masked fields.
    case permission
    /// The claims reach the resource.
    case coverage
}

/// What came of one rule.
public struct TokenCheck: Hashable, Sendable {
    /// How a check ended.
    public enum Outcome: Hashable, Sendable {
        /// The rule holds; the text says what was found.
        case passed(String)
        /// The rule does not hold.
        case refused(TokenRefusal)
        /// The rule could not be looked at; the text says why.
        case notReached(String)
    }

    /// The rule.
    public let rule: TokenRule
    /// How it ended.
    public let outcome: Outcome
}

/// Collects checks: stops at the first refusal for a verifier, goes on as far as possible for an explanation.
struct CheckRecorder {
    enum Mode {
        case stopAtRefusal
        case explain
    }

    let mode: Mode
    private(set) var checks: [TokenCheck] = []
    /// What was seen that the service lets pass, though the documentation says otherwise.
    private(set) var deviations: DeviationSet = []

    init(mode: Mode) {
        self.mode = mode
    }

    /// Records the rule, or throws the refusal when it does not hold and nothing is to be explained.
    mutating func require(
        _ rule: TokenRule,
        _ holds: Bool,
        found: @autoclosure () -> String?,
        _ refusal: @autoclosure () -> TokenRefusal
    ) throws(TokenRefusal) {
        if holds {
            if self.mode == .explain, let found = found() { self.pass(rule, found: found) }
            return
        }
        let refusal = self.refuse(rule, refusal())
        if self.mode == .stopAtRefusal { throw refusal }
    }

    mutating func pass(_ rule: TokenRule, found: @autoclosure () -> String) {
        if self.mode == .explain { self.checks.append(TokenCheck(rule: rule, outcome: .passed(found()))) }
    }

    /// Notes what departs from the documentation without being refused.
    mutating func note(_ deviation: Deviation) { self.deviations.insert(deviation) }

    mutating func skip(_ rule: TokenRule, why: @autoclosure () -> String) {
        if self.mode == .explain { self.checks.append(TokenCheck(rule: rule, outcome: .notReached(why()))) }
    }

    /// Records a refusal after which nothing further can be looked at, and hands it back to be thrown.
    mutating func refuse(_ rule: TokenRule, _ refusal: TokenRefusal) -> TokenRefusal {
        if self.mode == .explain { self.checks.append(TokenCheck(rule: rule, outcome: .refused(refusal))) }
        return refusal
    }
}

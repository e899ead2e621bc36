// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
public import Foundation

/// What the token server decided about one request for a token: who asked, for what, and what became of it.
///
/// The token itself is never part of it; its fingerprint is.
public struct AuditRecord: Hashable, Sendable {
    /// What became of a request.
    public enum Decision: String, Hashable, Sendable {
        /// A token was made.
        case granted
        /// The policy, a limit or the signer said no.
        case refused
    }

    /// The token that a granted request got, without the token.
    public struct Token: Hashable, Sendable {
        /// The first 8 bytes of the token's SHA-256, in hexadecimal.
        public var fingerprint: String
        /// The id of the key that signed, where the signer says.
        public var keyID: String?
        /// When the token ends, in Unix seconds.
        public var expiresAt: Int64

        /// Describes a token.
        public init(fingerprint: String, keyID: String?, expiresAt: Int64) {
            self.fingerprint = fingerprint
            self.keyID = keyID
            self.expiresAt = expiresAt
        }
    }

    /// When it was decided, in Unix milliseconds.
    public var time: Int64
    /// The caller's name.
    public var caller: String
    /// Which subject of which authenticator the caller is.
    public var callerID: CallerID
    /// The address that the request came from, where it is known.
    public var address: String?
    /// The role of the token.
    public var role: Role
    /// What the token reaches, or was to reach.
    public var claims: AuthorizationClaims
    /// What became of the request.
    public var decision: Decision
    /// The name of the rule that decided, where a rule did.
    public var rule: String?
    /// Why it was refused.
    public var reason: String?
    /// The token of a granted request.
    public var token: Token?

    /// Describes a decision.
    ///
    /// - Parameters:
    ///   - time: When it was decided.
    ///   - caller: Who asked.
    ///   - address: The address that the request came from.
    ///   - role: The role of the token.
    ///   - claims: What the token reaches, or was to reach.
    ///   - decision: What became of the request.
    ///   - rule: The name of the rule that decided.
    ///   - reason: Why it was refused.
    ///   - token: The token of a granted request.
    public init(
        time: Date, caller: Caller, address: String? = nil, role: Role, claims: AuthorizationClaims,
        decision: Decision, rule: String? = nil, reason: String? = nil, token: Token? = nil
    ) {
        self.time = Int64((time.timeIntervalSince1970 * 1000).rounded(.down))
        self.caller = caller.name
        self.callerID = caller.id
        self.address = address
        self.role = role
        self.claims = claims
        self.decision = decision
        self.rule = rule
        self.reason = reason
        self.token = token
    }
}

// MARK: - JSON

extension AuditRecord {
    private enum Key {
        static let time = "time_ms"
        static let caller = "caller"
        static let issuer = "issuer"
        static let subject = "subject"
        static let address = "address"
        static let role = "role"
        static let claims = "claims"
        static let decision = "decision"
        static let rule = "rule"
        static let reason = "reason"
        static let fingerprint = "fingerprint"
        static let keyID = "key_id"
        static let expiresAt = "expires_at"
    }

    /// The record as a JSON object.
    var json: JSONValue {
        .object([
            Key.address: self.address.map(JSONValue.string),
            Key.caller: .string(self.caller),
            Key.claims: self.claims.json,
            Key.decision: .string(self.decision.rawValue),
            Key.expiresAt: (self.token?.expiresAt).map(JSONValue.integer),
            Key.fingerprint: (self.token?.fingerprint).map(JSONValue.string),
            Key.issuer: .string(self.callerID.issuer),
            Key.keyID: (self.token?.keyID).map(JSONValue.string),
            Key.reason: self.reason.map(JSONValue.string),
            Key.role: .string(self.role.rawValue),
            Key.rule: self.rule.map(JSONValue.string),
            Key.subject: .string(self.callerID.subject),
            Key.time: .integer(self.time),
        ])
    }

    /// Reads a record; `nil` where the object is none.
    init?(json object: JSONObject) {
        guard let time = object[Key.time]?.integer, let caller = object[Key.caller]?.string,
            let issuer = object[Key.issuer]?.string, let subject = object[Key.subject]?.string,
            let role = object[Key.role]?.string,
            let claims = object[Key.claims]?.object.flatMap({ try? AuthorizationClaims(json: $0) }),
            let decision = (object[Key.decision]?.string).flatMap(Decision.init(rawValue:))
        else { return nil }
        self.time = time
        self.caller = caller
        self.callerID = CallerID(issuer: issuer, subject: subject)
        self.address = object[Key.address]?.string
        self.role = Role(rawValue: role)
        self.claims = claims
        self.decision = decision
        self.rule = object[Key.rule]?.string
        self.reason = object[Key.reason]?.string
        if let fingerprint = object[Key.fingerprint]?.string, let expiresAt = object[Key.expiresAt]?.integer {
            self.token = Token(
                fingerprint: fingerprint, keyID: object[Key.keyID]?.string, expiresAt: expiresAt)
        }
    }
}

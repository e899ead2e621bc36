// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Why a token was refused, in words and in a form that programs can act on.
///
/// The engine puts ``reason`` into `google.rpc.ErrorInfo` and ``message`` into the status. Neither says whether
/// a resource exists, or repeats the token: of that, they tell its times, its `alg`, its `kid`, the name of a member that
/// stands twice, or of a claim that is misspelt, and nothing else.
public struct TokenRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The bounded name of a refusal, in the form of `ErrorInfo.reason`; unknown ones are kept.
    public struct Reason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name on the wire.
        public let rawValue: String
        /// Wraps any name, known or not.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The name on the wire.
        public var description: String { self.rawValue }

        /// The call carried no token.
        public static let tokenMissing = Self(rawValue: "TOKEN_MISSING")
        /// The token is longer than is read.
        public static let tokenTooLarge = Self(rawValue: "TOKEN_TOO_LARGE")
        /// The token is not a compact JWS with a Fleet Engine payload, or never holds by its times.
        public static let tokenMalformed = Self(rawValue: "TOKEN_MALFORMED")
        /// The token is not signed with RS256.
        public static let algorithmNotAllowed = Self(rawValue: "ALGORITHM_NOT_ALLOWED")
        /// The header names extensions that must be understood.
        public static let criticalHeader = Self(rawValue: "CRITICAL_HEADER_NOT_SUPPORTED")
        /// No trusted key of the issuer has the token's `kid`, or it has none, or so many that not all are tried.
        public static let keyUnknown = Self(rawValue: "KEY_UNKNOWN")
        /// Whether the account has the token's key cannot be known now, as its keys cannot be fetched.
        public static let keysUnavailable = Self(rawValue: "KEYS_UNAVAILABLE")
        /// The signature does not fit the key.
        public static let signatureInvalid = Self(rawValue: "SIGNATURE_INVALID")
        /// `iss` is not the account that owns the key, or `sub` differs from it.
        public static let issuerMismatch = Self(rawValue: "ISSUER_MISMATCH")
        /// `aud` is not Fleet Engine.
        public static let audienceMismatch = Self(rawValue: "AUDIENCE_MISMATCH")
        /// `iat` lies too far in the future.
        public static let tokenNotYetValid = Self(rawValue: "TOKEN_NOT_YET_VALID")
        /// `iat` lies too far in the past.
        public static let tokenTooOld = Self(rawValue: "TOKEN_TOO_OLD")
        /// `exp` has passed.
        public static let tokenExpired = Self(rawValue: "TOKEN_EXPIRED")
        /// `exp` lies more than an hour ahead.
        public static let tokenExpiresTooLate = Self(rawValue: "TOKEN_EXPIRES_TOO_LATE")
        /// The token, or every token of its key, was withdrawn before its end.
        public static let tokenRevoked = Self(rawValue: "TOKEN_REVOKED")
        /// The `authorization` object is missing or has no claim that counts, and the role needs one.
        public static let claimsMissing = Self(rawValue: "CLAIMS_MISSING")
        /// The `authorization` object breaks its rules.
        public static let claimsInvalid = Self(rawValue: "CLAIMS_INVALID")
        /// The signing account holds no Fleet Engine role.
        public static let roleUnknown = Self(rawValue: "ROLE_UNKNOWN")
        /// The signing account belongs to another provider than the request.
        public static let providerMismatch = Self(rawValue: "PROVIDER_MISMATCH")
        /// The role of the signing account may not do this.
        public static let roleLacksPermission = Self(rawValue: "ROLE_LACKS_PERMISSION")
        /// The claims do not reach the resource.
        public static let claimMismatch = Self(rawValue: "CLAIM_MISMATCH")
    }

    /// The status a refusal maps to.
    public enum Status: Hashable, Sendable {
        /// Something is wrong with the token itself: gRPC 16, HTTP 401.
        case unauthenticated
        /// A good token does not reach this method or resource: gRPC 7, HTTP 403.
        case permissionDenied
        /// Whether the token is good cannot be known now: gRPC 14, HTTP 503.
        case unavailable
    }

    /// The bounded name of the refusal.
    public var reason: Reason
    /// The status it maps to.
    public var status: Status
    /// What did not hold, without secrets.
    public var message: String
    /// How to mend it.
    public var fix: String
    /// Reason, message and fix on one line.
    public var description: String { "\(self.reason): \(self.message) \(self.fix)" }

    /// A refusal of the token itself.
    public static func unauthenticated(_ reason: Reason, _ message: String, fix: String) -> Self {
        Self(reason: reason, status: .unauthenticated, message: message, fix: fix)
    }

    /// A refusal of what a good token asks for.
    public static func permissionDenied(_ reason: Reason, _ message: String, fix: String) -> Self {
        Self(reason: reason, status: .permissionDenied, message: message, fix: fix)
    }

    /// A call without any token.
    public static let missing = Self.unauthenticated(
        .tokenMissing,
        "The call carries no token.",
        fix: "Send the header Authorization: Bearer TOKEN."
    )

    /// A token that may be good, of an account whose keys cannot be fetched.
    package static let keysUnavailable = Self(
        reason: .keysUnavailable, status: .unavailable,
        message: "The keys of the token's account cannot be fetched now, so that nobody can tell whether it is good.",
        fix: "Come again with the same token in a few seconds; whoever runs the server sees in its log why."
    )

    /// A token that was withdrawn, or whose key was.
    package static let revoked = Self.unauthenticated(
        .tokenRevoked, "The token was withdrawn before its end.", fix: "Fetch a new token, if you still may.")

    /// A token without claims, or with none that counts, of an account that needs some.
    static func claimsMissing(_ claims: AuthorizationClaims?) -> Self {
        let areIgnored = claims?.hasIgnored == true
        // The service's own words, which alone are known: programs and people look for them.
        let published = claims == nil ? "JWT does not contain any scopes. " : ""
        return .permissionDenied(
            .claimsMissing,
            "\(published)The token has no authorization claims\(areIgnored ? " that count" : ""), and the role of its "
                + "account needs them.",
            fix: claims?.spellingFix
                ?? "Mint the token with the claim that names the resource, or sign with an admin account."
        )
    }

    static func malformed(_ message: String) -> Self {
        .unauthenticated(
            .tokenMalformed, message, fix: "Mint the token with a Fleet Engine library and send it unchanged.")
    }
}

extension TokenRefusal: CustomNSError {
    /// The message and the fix, which is what `localizedDescription` says.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: "\(self.message) \(self.fix)"] }
}

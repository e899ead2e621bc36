// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Checks tokens against the rules of Fleet Engine, in one fixed order, with keys and time given by the caller.
///
/// The same steps serve a verifier, which stops at the first rule that does not hold, and an explanation, which goes on
/// as far as it can: see ``explain(_:request:keys:now:)``.
public struct TokenExaminer: Hashable, Sendable {
    /// How many keys a token is tried with at most, where the keys do not say otherwise: as many as Google lets an
    /// account have, and room for its own.
    public static let maximumCandidates = 16

    /// The time rules in force.
    public let timeRules: TokenTimeRules

    // In the unit of the claims, so that no check divides.
    private let tolerance: Int64
    private let lifetime: Int64
    private let leeway: Int64

    /// Makes an examiner.
    public init(timeRules: TokenTimeRules = TokenTimeRules()) {
        self.timeRules = timeRules
        self.tolerance = Self.seconds(timeRules.issuedAtTolerance)
        self.lifetime = Self.seconds(timeRules.maximumLifetime)
        self.leeway = Self.seconds(timeRules.leeway)
    }

    /// Whole seconds, within a thousand years: whoever wants no limit may write the longest duration there is.
    private static func seconds(_ duration: Duration) -> Int64 {
        let longest: Int64 = 31_556_952_000
        return min(max(duration.components.seconds, -longest), longest)
    }

    /// Checks everything a token says of itself.
    ///
    /// - Parameters:
    ///   - token: The compact JWS as it was received.
    ///   - keys: The keys that are trusted.
    ///   - now: The verifier's time.
    /// - Returns: The payload, and the account and key that vouch for it.
    /// - Throws: ``TokenRefusal`` for the first rule that does not hold.
    public func examine(_ token: String, keys: any TokenKeys, now: Date) throws(TokenRefusal) -> ExaminedToken {
        var recorder = CheckRecorder(mode: .stopAtRefusal)
        let examination = try self.examine(token, keys: keys, now: now, recording: &recorder)
        guard let account = examination.account, let keyID = examination.keyID else {
            // The recorder throws at the first refusal, so a key was found; kept as an error rather than a trap.
            throw .unauthenticated(.keyUnknown, "No trusted key was found.", fix: "Trust the signer's key.")
        }
        return ExaminedToken(
            claims: examination.claims, account: account, keyID: keyID, trustedKeyID: examination.trustedKeyID,
            lastingDeviations: examination.deviations)
    }

    /// What the steps found, as far as they got.
    struct Examination {
        var claims: TokenClaims
        var account: TrustedAccount?
        /// The id of the key, as the token names it where it does.
        var keyID: String?
        /// The id under which the key is trusted.
        var trustedKeyID: String?
        /// What departs from the documentation for as long as the token lives.
        var deviations: DeviationSet
    }

    func examine(
        _ token: String, keys: (any TokenKeys)?, now: Date, recording recorder: inout CheckRecorder
    ) throws(TokenRefusal) -> Examination {
        let jws = try CompactJWS.read(token, recording: &recorder)
        var payload = TokenPayload(jws.payload)
        let key = try self.findKey(for: jws, &payload, in: keys, recording: &recorder)
        let claims = try TokenClaims.read(&payload, recording: &recorder)
        let account = key.map { $0.account ?? TrustedAccount(email: claims.issuer) }

        try recorder.require(
            .issuer,
            claims.issuer == claims.subject && (account == nil || account?.email == claims.issuer),
            found: claims.issuer.shown(),
            .unauthenticated(
                .issuerMismatch,
                claims.issuer == claims.subject
                    ? "The token's iss is not the account that owns the signing key."
                    : "The token's sub differs from its iss.",
                fix: "Set iss and sub to the e-mail of the service account that signs."
            )
        )
        try recorder.require(
            .audience,
            claims.audience == TokenClaims.audience,
            found: claims.audience.shown(),
            .unauthenticated(
                .audienceMismatch,
                "The token's aud is not \(TokenClaims.audience).",
                fix: "Set aud to \(TokenClaims.audience), with the final slash, as one string."
            )
        )
        try self.checkTimes(
            issuedAt: claims.issuedAt, notBefore: claims.notBefore, expiresAt: claims.expiresAt, now: now,
            recording: &recorder)
        var deviations = recorder.deviations
        deviations.formUnion(DeviationSet(of: claims, account: account))
        return Examination(
            claims: claims, account: account, keyID: key.map { jws.keyID ?? $0.id }, trustedKeyID: key?.id,
            deviations: deviations)
    }

    private func findKey(
        for jws: CompactJWS, _ payload: inout TokenPayload, in keys: (any TokenKeys)?,
        recording recorder: inout CheckRecorder
    ) throws(TokenRefusal) -> (any TokenKey)? {
        guard let keys else {
            recorder.skip(.key, why: "no keys were given")
            recorder.skip(.signature, why: "no keys were given")
            return nil
        }
        let (own, others) = Self.candidates(for: jws, &payload, in: keys)
        let tried = (own + others).prefix(keys.maximumCandidates)
        let key = tried.first { $0.isValidSignature(jws.signature, for: jws.signingInput) }
        // Where some of its own were not tried, nobody knows whether the token is signed by one of them.
        let isFound = key != nil || (!own.isEmpty && own.count <= tried.count)
        try recorder.require(
            .key, isFound, found: jws.keyID.map { "kid \($0.shown(upTo: 64))" } ?? "no kid; the issuer's keys",
            Self.keyUnknown(jws.keyID, isOfOthers: !others.isEmpty, tried: tried.count, of: own.count))
        guard isFound else {
            recorder.skip(.signature, why: "no key was found")
            return nil
        }
        try recorder.require(
            .signature,
            key != nil,
            found: "RS256 by \(key?.id.shown(upTo: 64) ?? "")",
            .unauthenticated(
                .signatureInvalid,
                "The token's signature does not fit the key.",
                fix: "Send the token unchanged, signed by the account that it names."
            )
        )
        return key
    }

    /// The keys that may have signed a token: those of the account that it claims to be of, and where that has none of
    /// the id, those that others have, so that it can be told whose key it is.
    private static func candidates(
        for jws: CompactJWS, _ payload: inout TokenPayload, in keys: any TokenKeys
    ) -> (own: [any TokenKey], others: [any TokenKey]) {
        let named = jws.keyID.map { keys.keys(withID: $0) }
        // That there is no issuer is told by whoever reads the claims.
        guard let issuer = payload.claimedIssuer() else { return (named ?? [], []) }
        // Whoever publishes a key under another account's id must not stand in that account's way. Google's remote
        // signers send no kid; only the claimed issuer's keys are tried then.
        let own = named?.filter { $0.account.map { $0.email == issuer } ?? true } ?? keys.keys(ofAccount: issuer)
        guard own.isEmpty else { return (own, []) }
        return (keys.unnamedKeys(ofAccount: issuer), named ?? [])
    }

    private static func keyUnknown(_ keyID: String?, isOfOthers: Bool, tried: Int, of count: Int) -> TokenRefusal {
        guard count == 0 else {
            return .unauthenticated(
                .keyUnknown,
                "The token's signature fits none of \(tried) keys, and no more of the \(count) that may have made it are "
                    + "tried.",
                fix: "Name the key that signs by its id, as kid in the token's header and where the key is registered."
            )
        }
        return .unauthenticated(
            .keyUnknown,
            keyID.map {
                "The token's kid names no trusted key\(isOfOthers ? " of its iss" : ""): \"\($0.shown(upTo: 64))\"."
            } ?? "The token has no kid, and its issuer has no trusted key.",
            fix: "Sign with a key that is registered for the service account, and not yet withdrawn."
        )
    }

    /// Checks only the times of a token that was examined before.
    package func checkTimes(of token: ExaminedToken, now: Date) throws(TokenRefusal) {
        var recorder = CheckRecorder(mode: .stopAtRefusal)
        try self.checkTimes(
            issuedAt: token.issuedAt, notBefore: token.notBefore, expiresAt: token.expiresAt, now: now,
            recording: &recorder)
    }

    private func checkTimes(
        issuedAt: Int64, notBefore: Int64?, expiresAt: Int64, now: Date, recording recorder: inout CheckRecorder
    ) throws(TokenRefusal) {
        let now = Int64(now.timeIntervalSince1970.rounded(.down))
        let (tolerance, lifetime, leeway) = (self.tolerance, self.lifetime, self.leeway)
        try recorder.require(
            .issuedAt,
            max(issuedAt, notBefore ?? issuedAt) <= now + tolerance && issuedAt >= now - lifetime - tolerance,
            found: "\(now - issuedAt) s ago",
            max(issuedAt, notBefore ?? issuedAt) > now + tolerance
                ? .unauthenticated(
                    .tokenNotYetValid,
                    issuedAt > now + tolerance
                        ? "The token's iat lies \(issuedAt - now) s ahead; at most \(tolerance) s are tolerated."
                        : "The token's nbf lies ahead by more than \(tolerance) s.",
                    fix: "Set the clock of the signing server, or backdate iat by a few minutes."
                )
                : .unauthenticated(
                    .tokenTooOld,
                    "The token's iat lies \(now - issuedAt) s back; no token lives that long.",
                    fix: "Mint a new token with iat near the present."
                )
        )
        try recorder.require(
            .expiry,
            expiresAt + leeway > now && expiresAt > issuedAt,
            found: "\(expiresAt - now) s left",
            expiresAt + leeway > now
                ? .unauthenticated(
                    .tokenMalformed,
                    "The token's exp is not after its iat, so that it never holds.",
                    fix: "Set exp to iat + 3600 s."
                )
                : .unauthenticated(
                    .tokenExpired,
                    "The token expired \(now - expiresAt) s ago.",
                    fix: "Fetch a new token, and refresh while 5 minutes are left."
                )
        )
        try recorder.require(
            .expiryCeiling,
            expiresAt <= now + lifetime + leeway && expiresAt - issuedAt <= lifetime + tolerance,
            found: "lifetime \(expiresAt - issuedAt) s",
            .unauthenticated(
                .tokenExpiresTooLate,
                expiresAt > now + lifetime + leeway
                    ? "The token's exp lies \(expiresAt - now) s ahead; at most \(lifetime) s are allowed."
                    : "The token's exp lies \(expiresAt - issuedAt) s after its iat; at most \(lifetime + tolerance) s "
                        + "are allowed.",
                fix: "Set exp to iat + 3600 s, and backdate iat so that a slow verifier's clock does not refuse it."
            )
        )
    }
}

// MARK: - Payload

extension TokenClaims {
    /// The range of times that are read, in Unix seconds, so that no sum can overflow: up to the year 9999.
    private static let timeRange: ClosedRange<Int64> = 0...253_402_300_799

    static func read(
        _ payload: inout TokenPayload, recording recorder: inout CheckRecorder
    ) throws(TokenRefusal) -> TokenClaims {
        let object: JSONObject
        do throws(TokenError) {
            object = try payload.members()
        } catch {
            throw recorder.refuse(.payload, .malformed("The token's payload is not strict JSON. \(error.message)"))
        }
        func value(_ key: String) throws(TokenRefusal) -> JSONValue {
            guard let value = object[key] else { throw .malformed("The token's \(key) is missing.") }
            return value
        }
        func text(_ key: String) throws(TokenRefusal) -> String {
            guard let text = try value(key).string, !text.isEmpty else {
                throw .malformed("The token's \(key) is not a string.")
            }
            return text
        }
        func time(_ key: String) throws(TokenRefusal) -> Int64 {
            let time = try value(key).integer
            if let time, Self.timeRange.contains(time) { return time }
            if let time, Self.timeRange.contains(time / 1000), time > 0 {
                throw .malformed("The token's \(key), \(time), looks like milliseconds; write seconds.")
            }
            throw .malformed("The token's \(key) is not a whole number of Unix seconds.")
        }
        var claims: TokenClaims
        do throws(TokenRefusal) {
            claims = try TokenClaims(
                account: text("iss"), issuedAt: time("iat"), expiresAt: time("exp"), authorization: nil)
            claims.subject = try text("sub")
            claims.audience = try text("aud")
            if object["nbf"] != nil { claims.notBefore = try time("nbf") }
        } catch {
            throw recorder.refuse(.payload, error)
        }
        if object["scope"] != nil { recorder.note(.tokenWithScope) }
        recorder.pass(.payload, found: "JSON object with iss, sub, aud, iat, exp")

        if let value = object["authorization"] {
            do throws(TokenError) {
                guard let members = value.object else {
                    throw TokenError(code: .invalidClaims, message: "The claim authorization is not an object.")
                }
                claims.authorization = try AuthorizationClaims(json: members)
            } catch {
                throw recorder.refuse(
                    .claims,
                    .unauthenticated(
                        .claimsInvalid,
                        "The token's authorization claims break a rule. \(error.message)",
                        fix: "Mint the token with the claims of its type only."
                    )
                )
            }
        }
        recorder.pass(.claims, found: claims.authorization?.found ?? "none")
        return claims
    }
}

extension AuthorizationClaims {
    /// What counts, and the names of what is ignored.
    fileprivate var found: String {
        let counted = (self.json.object ?? [:]).filter { Key(rawValue: $0.key) != nil }
        let text = String(decoding: JSONValue.object(JSONObject(distinct: counted)).serialized, as: UTF8.self)
        let names = self.ignoredNames.map { $0.shown(upTo: 64) }.joined(separator: ", ")
        return text.shown() + (names.isEmpty ? "" : "; ignored: \(names)")
    }
}

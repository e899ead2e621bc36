// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A token taken apart, with nothing in it trusted yet.
///
/// Reading checks the form only, in the order in which a verifier must: size, three parts, strict base64url, header
/// JSON with its key id, algorithm, type, critical headers. The payload stays bytes until a signature holds.
public struct CompactJWS: Hashable, Sendable {
    /// The longest token that is read, in bytes; a Fleet Engine token has about 700.
    ///
    /// HTTP/2 servers take about 16 KiB of header fields in all, so a longer one would not arrive over gRPC.
    public static let maximumBytes = 12 * 1024

    /// The id of the key that signed; Google's own remote signers leave it out.
    public let keyID: String?
    /// The bytes that are signed: header, dot, payload, all in base64url.
    public let signingInput: [UInt8]
    /// The decoded payload, which nothing vouches for yet.
    public let payload: [UInt8]
    /// The decoded signature.
    public let signature: [UInt8]

    /// Takes a compact JWS apart.
    ///
    /// - Throws: ``TokenRefusal`` for the first rule that does not hold.
    public init(_ token: String) throws(TokenRefusal) {
        var recorder = CheckRecorder(mode: .stopAtRefusal)
        self = try Self.read(token, recording: &recorder)
    }

    static func read(_ token: String, recording recorder: inout CheckRecorder) throws(TokenRefusal) -> Self {
        let parts: JWSParts
        do throws(JWSParts.Fault) {
            parts = try JWSParts(token.utf8, atMost: Self.maximumBytes)
        } catch {
            let (rule, refusal) = Self.refusal(for: error)
            Self.passForm(of: token, before: rule, recording: &recorder)
            throw recorder.refuse(rule, refusal)
        }
        Self.passForm(of: token, before: nil, recording: &recorder)
        let keyID = try Self.keyID(checking: parts.header, recording: &recorder)
        return Self(
            keyID: keyID,
            signingInput: parts.signingInput,
            payload: parts.payload,
            signature: parts.signature
        )
    }

    private static func refusal(for fault: JWSParts.Fault) -> (TokenRule, TokenRefusal) {
        switch fault {
        case .size:
            (
                .size,
                .unauthenticated(
                    .tokenTooLarge,
                    "The token has more than \(Self.maximumBytes) bytes, the most that is read of one.",
                    fix: "Send one compact JWS and nothing else in the Authorization header; list fewer taskids."
                )
            )
        case .form:
            (.form, .malformed("The token is not three parts with dots between them."))
        case .encoding:
            (
                .encoding,
                .malformed(
                    "A part of the token is not base64url as RFC 7515 writes it (no padding, no other characters).")
            )
        case .header(let reason):
            (.header, .malformed("The token's header is not strict JSON. \(reason)"))
        }
    }

    /// Records those of the checks of the form that come before a rule, or all of them.
    private static func passForm(
        of token: String, before rule: TokenRule?, recording recorder: inout CheckRecorder
    ) {
        guard recorder.mode == .explain else { return }
        let checks: [(rule: TokenRule, found: String)] = [
            (.size, "\(token.utf8.count) bytes"), (.form, "three parts"), (.encoding, "strict base64url"),
            (.header, "JSON object"),
        ]
        for check in checks.prefix(while: { $0.rule != rule }) { recorder.pass(check.rule, found: check.found) }
    }

    /// Checks the header's parameters, and gives the key id where there is one.
    private static func keyID(
        checking header: JSONObject, recording recorder: inout CheckRecorder
    ) throws(TokenRefusal) -> String? {
        let keyID = header["kid"]?.string
        try recorder.require(
            .header,
            header["kid"] == nil || keyID.map { !$0.isEmpty && $0.utf8.count <= 256 } ?? false,
            found: nil,
            .malformed("The token's kid is not a string of 1 to 256 bytes.")
        )
        let algorithm = header["alg"]?.string
        try recorder.require(
            .algorithm,
            algorithm == "RS256",
            found: "RS256",
            .unauthenticated(
                .algorithmNotAllowed,
                "The token's alg is \(algorithm.map { "\"\($0.shown(upTo: 32))\"" } ?? "missing"); "
                    + "Fleet Engine takes RS256.",
                fix: "Sign with the service account's RSA key (RS256)."
            )
        )
        try recorder.require(
            .type,
            header["typ"].map { $0 == .string("JWT") || $0.string?.uppercased() == "JWT" } ?? true,
            found: header["typ"]?.string ?? "absent",
            .malformed("The token's typ is not JWT.")
        )
        try recorder.require(
            .critical,
            header["crit"] == nil,
            found: "none",
            .unauthenticated(
                .criticalHeader,
                "The token names critical header parameters; none is supported.",
                fix: "Leave crit out of the header."
            )
        )
        if header["typ"] != .string("JWT") { recorder.note(.tokenWithoutType) }
        if header["kid"] == nil { recorder.note(.tokenWithoutKeyID) }
        return keyID
    }

    /// The parts of a token that is made here.
    package init(keyID: String?, signingInput: [UInt8], payload: [UInt8], signature: [UInt8]) {
        self.keyID = keyID
        self.signingInput = signingInput
        self.payload = payload
        self.signature = signature
    }
}

// The parts are the token.
extension CompactJWS: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The key's id, never the parts.
    public var description: String { "CompactJWS(\(self.keyID?.shown(upTo: 32) ?? "no kid"))" }
    /// The key's id, never the parts.
    public var debugDescription: String { self.description }
    /// A mirror that shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["parts": self.description]) }
}

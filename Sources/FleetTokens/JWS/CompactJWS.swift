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
        let size = token.utf8.count
        guard size <= Self.maximumBytes else {
            throw recorder.refuse(
                .size,
                .unauthenticated(
                    .tokenTooLarge,
                    "The token has more than \(Self.maximumBytes) bytes, the most that is read of one.",
                    fix: "Send one compact JWS and nothing else in the Authorization header; list fewer taskids."
                )
            )
        }
        recorder.pass(.size, found: "\(size) bytes")

        let bytes = Array(token.utf8)
        let dot = UInt8(ascii: ".")
        guard let first = bytes.firstIndex(of: dot), let second = bytes[(first + 1)...].firstIndex(of: dot) else {
            throw recorder.refuse(.form, Self.notThreeParts)
        }
        guard let headerBytes = Base64URL.decode(bytes[..<first]),
            let payload = Base64URL.decode(bytes[(first + 1)..<second]),
            let signature = Base64URL.decode(bytes[(second + 1)...])
        else {
            // A third dot is no base64url, so only what cannot be decoded is searched for one.
            guard !bytes[(second + 1)...].contains(dot) else { throw recorder.refuse(.form, Self.notThreeParts) }
            recorder.pass(.form, found: "three parts")
            throw recorder.refuse(
                .encoding,
                .malformed(
                    "A part of the token is not base64url as RFC 7515 writes it (no padding, no other characters).")
            )
        }
        recorder.pass(.form, found: "three parts")
        recorder.pass(.encoding, found: "strict base64url")

        let header: JSONObject
        do throws(TokenError) {
            guard let object = try JSONValue(parsing: headerBytes).object else {
                throw TokenError(code: .invalidJSON, message: "It is not an object.")
            }
            header = object
        } catch {
            throw recorder.refuse(.header, .malformed("The token's header is not strict JSON. \(error.message)"))
        }
        recorder.pass(.header, found: "JSON object")

        let keyID = try Self.keyID(checking: header, recording: &recorder)
        return Self(
            keyID: keyID,
            signingInput: Array(bytes[..<second]),
            payload: payload,
            signature: signature
        )
    }

    private static let notThreeParts = TokenRefusal.malformed(
        "The token is not three parts with dots between them.")

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

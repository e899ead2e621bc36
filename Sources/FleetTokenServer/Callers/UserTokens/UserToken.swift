// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// A user's token taken apart, with nothing in it vouched for yet.
///
/// It tells who should check it (``issuer``) and with which key; the claims are believed once a signature holds.
struct UserToken {
    /// The longest token that is read, in bytes; one that names all of a user's groups is long.
    ///
    /// HTTP/2 servers take about as much of header fields in all.
    static let maximumBytes = 16 * 1024

    let algorithm: String?
    let type: String?
    let keyID: String?
    let hasCriticalParameters: Bool
    let signingInput: [UInt8]
    let signature: [UInt8]
    let claims: JSONObject

    /// Who claims to have issued it.
    var issuer: String? { self.claims["iss"]?.string }

    /// Reads a bearer credential, or is `nil` when it is not a compact JWS with JSON objects inside.
    init?(_ text: String) {
        guard let parts = try? JWSParts(text.utf8, atMost: Self.maximumBytes),
            let claims = (try? JSONValue(parsing: parts.payload))?.object
        else { return nil }
        let header = parts.header
        self.algorithm = header["alg"]?.string
        // What is there and is no string must not pass for absent.
        self.type = header["typ"].map { $0.string ?? "?" }
        self.keyID = header["kid"].map { $0.string ?? "" }
        self.hasCriticalParameters = header["crit"] != nil || header["b64"] != nil
        self.signingInput = parts.signingInput
        self.signature = parts.signature
        self.claims = claims
    }

    /// Whether a bearer credential is longer than tokens that are read, and has the dots of one.
    static func isTooLong(_ text: String) -> Bool {
        text.utf8.count > self.maximumBytes && self.hasForm(text)
    }

    /// Whether a bearer credential has the dots of a token.
    static func hasForm(_ text: String) -> Bool { text.utf8.count { $0 == UInt8(ascii: ".") } == 2 }

    /// Whether it has a mark of a Fleet Engine token, which is never a user's.
    var isFleetEngineToken: Bool {
        if self.claims["authorization"] != nil { return true }
        let audiences = self.claims["aud"].map { $0.array ?? [$0] } ?? []
        return audiences.contains { $0.string.map(Self.isFleetEngine(audience:)) ?? false }
    }

    /// Whether an audience is Fleet Engine, with or without the final slash.
    static func isFleetEngine(audience: String) -> Bool {
        let audience = audience.lowercased()
        return audience == TokenClaims.audience || audience + "/" == TokenClaims.audience
    }

    /// Whether a character leaves the line and the order of characters as they are.
    static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        default: true
        }
    }

    /// A text that somebody else chose, to be told to a person: 200 characters at most, and `?` for what is not visible.
    static func shown(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.prefix(200).map { Self.isVisible($0) ? $0 : "?" }))
    }
}

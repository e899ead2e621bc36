// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens

/// An OAuth access token: a secret that shows only its fingerprint.
public struct AccessToken: Hashable, Sendable {
    /// The token's text, to be sent in an `Authorization` header over TLS and never logged.
    public let value: String

    /// Wraps a token's text; nothing is checked.
    public init(_ value: String) {
        self.value = value
    }

    /// The value of the `Authorization` header, `Bearer` and the token.
    public var authorizationHeader: String { "Bearer \(self.value)" }

    /// The first 8 bytes of the text's SHA-256 in hexadecimal, which is safe to log.
    public var fingerprint: String { FleetToken(self.value).fingerprint }
}

extension AccessToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The fingerprint, never the token.
    public var description: String { "AccessToken(\(self.fingerprint))" }
    /// The fingerprint, never the token.
    public var debugDescription: String { self.description }
    /// A mirror that shows the fingerprint only.
    public var customMirror: Mirror { Mirror(self, children: ["fingerprint": self.fingerprint]) }
}

/// An access token and how long it lasts from the start of the request that brought it.
struct FetchedToken: Sendable {
    let token: AccessToken
    let life: Duration

    /// The life of a token whose answer does not say, which RFC 6749 §5.1 allows.
    static let assumedLife: Duration = .seconds(300)

    /// Checks a token that a service sent: text that fits a header field, and life left.
    init(_ text: String?, life: Duration, from service: String) throws(CredentialError) {
        guard let text, !text.isEmpty, text.utf8.count <= 16_384, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw CredentialError(code: .invalidAnswer, message: "\(service) sent no usable access token.") }
        guard life > .zero else {
            throw CredentialError(code: .invalidAnswer, message: "\(service) sent an access token that has ended.")
        }
        self.token = AccessToken(text)
        self.life = life
    }

    /// Reads the answer of an OAuth token endpoint (RFC 6749 §5.1).
    init(oauthAnswer response: UpstreamResponse, from service: String) throws(CredentialError) {
        let members = try Self.object(response, from: service)
        let life = members["expires_in"].flatMap { $0.integer ?? $0.string.flatMap { Int64($0) } }
        try self.init(
            members["access_token"]?.string,
            life: life.map { .seconds(min($0, 86_400)) } ?? Self.assumedLife,
            from: service
        )
    }

    /// The JSON object of an answer.
    static func object(_ response: UpstreamResponse, from service: String) throws(CredentialError) -> JSONObject {
        guard let object = (try? JSONValue(parsing: response.body))?.object else {
            throw CredentialError(code: .invalidAnswer, message: "\(service) sent an answer that is not a JSON object.")
        }
        return object
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokenClient
public import FleetTokens
import Foundation

/// Makes well-formed tokens without a key, for tests of code that carries tokens and does not verify them.
///
/// The signature is a constant: no verifier accepts these tokens, and none may be taught to.
public enum TestTokens {
    /// The time at which ``token(for:issuedAt:lifetime:serial:)`` sets `iat` unless told otherwise: 2026-01-01 UTC.
    public static let issuedAt: Int64 = 1_767_225_600

    /// A token that claims exactly what a subject needs.
    ///
    /// - Parameters:
    ///   - subject: Whose token; a reader gets every wildcard.
    ///   - issuedAt: `iat` in Unix seconds.
    ///   - lifetime: How long after `iat` the token ends, in whole seconds.
    ///   - serial: Makes tokens of equal claims and times differ.
    /// - Returns: The token.
    public static func token(
        for subject: TokenSubject, issuedAt: Int64 = Self.issuedAt, lifetime: Duration = .seconds(3600), serial: Int = 0
    ) -> FleetToken {
        // The claims of a token type are always a valid combination.
        let claims = try? subject.tokenType.claims
        return self.token(claiming: claims, issuedAt: issuedAt, lifetime: lifetime, serial: serial)
    }

    /// A token with any claims, such as ones that a client must refuse.
    ///
    /// - Parameters:
    ///   - claims: The `authorization` object, or `nil` for none.
    ///   - issuedAt: `iat` in Unix seconds.
    ///   - lifetime: How long after `iat` the token ends, in whole seconds.
    ///   - serial: Makes tokens of equal claims and times differ.
    /// - Returns: The token.
    public static func token(
        claiming claims: AuthorizationClaims?, issuedAt: Int64 = Self.issuedAt, lifetime: Duration = .seconds(3600),
        serial: Int = 0
    ) -> FleetToken {
        let payload = TokenClaims(
            account: "test-signer@demo-fleet.iam.gserviceaccount.com",
            issuedAt: issuedAt,
            expiresAt: issuedAt + lifetime.components.seconds,
            authorization: claims
        ).payload
        let header = JSONValue.object([
            "alg": .string("RS256"), "typ": .string("JWT"), "kid": .string("test-key-\(serial)"),
        ])
        let parts = [header.serialized, payload, [UInt8](repeating: 0x2A, count: 64)]
        return FleetToken(parts.map { String(decoding: Base64URL.encode($0), as: UTF8.self) }.joined(separator: "."))
    }

    /// The answer of a token server in one of the known contracts.
    ///
    /// - Parameters:
    ///   - token: The token to put into it.
    ///   - endpoint: Whose keys to use.
    ///   - subject: Whose token was asked for.
    ///   - life: The remaining life on the server's clock.
    ///   - refreshAfter: What to say about the next refresh, where the contract has a key for it.
    ///   - now: The server's clock in Unix seconds, for absolute expiries and the `Date` header.
    /// - Returns: A response with status 200.
    public static func response(
        with token: FleetToken, from endpoint: TokenEndpoint, for subject: TokenSubject, life: Duration,
        refreshAfter: Duration? = nil, at now: Int64
    ) -> HTTPTransportResponse {
        let format = endpoint.answerFormat(for: subject)
        var body: JSONObject = [format.tokenKey: .string(token.compactSerialization)]
        if let expiry = format.expiry {
            let seconds = life.components.seconds + (expiry.reference == .unixEpoch ? now : 0)
            body[expiry.key] = .integer(expiry.unit == .seconds ? seconds : seconds * 1000)
        }
        if let key = format.refreshAfterKey, let refreshAfter {
            body[key] = .integer(refreshAfter.components.seconds)
        }
        return HTTPTransportResponse(
            status: 200,
            headers: [("Content-Type", "application/json"), ("Date", HTTPDate.text(unixSeconds: now))],
            body: Data(JSONValue.object(body).serialized)
        )
    }
}

extension TokenSubject {
    /// The type of token that a server mints for the subject.
    package var tokenType: TokenType {
        switch self {
        case .driver(let id): .driver(id)
        case .consumer(let id): .consumer(id)
        case .deliveryDriver(let id, let task):
            task.map { .deliveryTrustedDriver(id, task: $0) } ?? .deliveryUntrustedDriver(id)
        case .deliveryConsumer(let id): .deliveryConsumer(id)
        case .fleetReader: .fleetReader
        }
    }
}

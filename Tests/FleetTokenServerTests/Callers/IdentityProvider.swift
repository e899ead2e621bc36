// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import FleetSigning
import FleetTokenServer
import FleetTokens
import Foundation
import HTTPTypes

/// An identity provider without a network: keys, tokens, a discovery document, and what it was asked for.
final class IdentityProvider: UpstreamTransport {
    static let issuer = "https://login.example"
    static let now = Date(timeIntervalSince1970: 1_767_225_600)

    enum SigningKey: Sendable {
        case rsa(_RSA.Signing.PrivateKey)
        case p256(P256.Signing.PrivateKey)
        case ed25519(Curve25519.Signing.PrivateKey)

        static func rsa() throws -> Self { .rsa(try _RSA.Signing.PrivateKey(keySize: .bits2048)) }

        var algorithm: String {
            switch self {
            case .rsa: "RS256"
            case .p256: "ES256"
            case .ed25519: "EdDSA"
            }
        }

        func signature(for message: [UInt8]) throws -> [UInt8] {
            switch self {
            case .rsa(let key):
                Array(
                    try key.signature(for: Crypto.SHA256.hash(data: message), padding: .insecurePKCS1v1_5)
                        .rawRepresentation)
            case .p256(let key): Array(try key.signature(for: message).rawRepresentation)
            case .ed25519(let key): Array(try key.signature(for: message))
            }
        }

        func publicJWK(id: String) throws -> JSONObject {
            func text(_ bytes: some Collection<UInt8>) -> JSONValue {
                .string(String(decoding: Base64URL.encode(Array(bytes)), as: UTF8.self))
            }
            switch self {
            case .rsa(let key):
                let primitives = try key.publicKey.getKeyPrimitives()
                return [
                    "kty": .string("RSA"), "kid": .string(id), "use": .string("sig"), "alg": .string("RS256"),
                    "n": text(primitives.modulus), "e": text(primitives.publicExponent),
                ]
            case .p256(let key):
                let point = key.publicKey.x963Representation.dropFirst()
                return [
                    "kty": .string("EC"), "crv": .string("P-256"), "kid": .string(id), "x": text(point.prefix(32)),
                    "y": text(point.suffix(32)),
                ]
            case .ed25519(let key):
                return [
                    "kty": .string("OKP"), "crv": .string("Ed25519"), "kid": .string(id),
                    "x": text(key.publicKey.rawRepresentation),
                ]
            }
        }
    }

    /// One RSA key for all tests; making one takes long.
    static let rsaKey = Result { try SigningKey.rsa() }

    struct State {
        var keys: [(id: String, key: SigningKey)] = []
        var asked: [String] = []
        var status = 200
        var cacheControl: String?
        var discoveredIssuer = IdentityProvider.issuer
        var keysAddress = IdentityProvider.issuer + "/keys"
    }

    let state: Locked<State>

    init(_ keys: [(id: String, key: SigningKey)]) {
        self.state = Locked(State(keys: keys))
    }

    /// How often the keys were fetched.
    var fetches: Int { self.state.withLock { $0.asked.count { $0.hasSuffix("/keys") } } }

    func send(_ request: UpstreamRequest) async throws -> UpstreamResponse {
        let state = self.state.withLock { state in
            state.asked.append(request.url)
            return state
        }
        guard state.status == 200 else { return UpstreamResponse(status: state.status) }
        if request.url == Self.issuer + "/.well-known/openid-configuration" {
            let document: JSONObject = [
                "issuer": .string(state.discoveredIssuer), "jwks_uri": .string(state.keysAddress),
            ]
            return UpstreamResponse(status: 200, body: JSONValue.object(document).serialized)
        }
        let keys = try state.keys.map { JSONValue.object(try $0.key.publicJWK(id: $0.id)) }
        return UpstreamResponse(
            status: 200, headers: state.cacheControl.map { [("Cache-Control", $0)] } ?? [],
            body: JSONValue.object(["keys": .array(keys)]).serialized)
    }

    // MARK: - Tokens

    /// The claims of a good token.
    static let claims: JSONObject = [
        "iss": .string(issuer), "aud": .string("driver-app"), "sub": .string("user-1"),
        "iat": .integer(1_767_225_500), "exp": .integer(1_767_229_100),
    ]

    /// Signs any header and payload.
    static func token(header: JSONObject, claims: JSONObject, key: SigningKey) throws -> String {
        try self.token(header: JSONValue.object(header).serialized, payload: JSONValue.object(claims).serialized) {
            try key.signature(for: $0)
        }
    }

    static func token(
        header: [UInt8], payload: [UInt8], signing: ([UInt8]) throws -> [UInt8]
    ) rethrows -> String {
        let input = Base64URL.encode(header) + [UInt8(ascii: ".")] + Base64URL.encode(payload)
        let signature = Base64URL.encode(try signing(input))
        return String(decoding: input + [UInt8(ascii: ".")] + signature, as: UTF8.self)
    }

    /// A good token, or one that differs in some claims and header parameters; `.null` takes a member away.
    static func token(
        _ changes: JSONObject = [:], header: JSONObject = [:], kid: String = "k1", key: SigningKey
    ) throws -> String {
        var claims = Self.claims
        for (name, value) in changes { claims[name] = value == .null ? nil : value }
        var parameters: JSONObject = [
            "alg": .string(key.algorithm), "typ": .string("JWT"), "kid": .string(kid),
        ]
        for (name, value) in header { parameters[name] = value == .null ? nil : value }
        return try self.token(header: parameters, claims: claims, key: key)
    }

    static func request(_ token: String) -> CallerRequest {
        CallerRequest(headers: [.authorization: "Bearer \(token)"])
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
package import FleetTokens
import Foundation

@testable import GoogleCredentials

/// Google's identity services as far as the tests need them.
enum Google {
    static let now = Date(timeIntervalSince1970: 1_767_225_600)
    static let account = "driver-signer@acme-fleet.iam.gserviceaccount.com"
    static let machine = "machine@acme-fleet.iam.gserviceaccount.com"
    /// The key that Google holds for the signing account.
    static let key = Result { try ServiceAccountKey(generatingFor: Self.account, projectID: "acme-fleet") }
    static let secrets = [
        "MARKED-access", "MARKED-refresh", "MARKED-client-secret", "MARKED-subject", "MARKED-aws-secret",
        "MARKED-aws-session", "MARKED-impersonated", "MARKED-sts",
    ]

    /// Answers as the services do when all is well.
    @Sendable static func answer(_ request: UpstreamRequest, _ index: Int) async throws -> UpstreamResponse {
        let url = request.url
        let host = HostRules.host(of: url)
        switch host {
        case "oauth2.googleapis.com":
            return .json(["access_token": "MARKED-access", "expires_in": .integer(3600), "token_type": "Bearer"])
        case "sts.googleapis.com":
            return .json(["access_token": "MARKED-sts", "expires_in": .integer(3600)])
        case "metadata.google.internal", "169.254.169.254":
            if url.hasSuffix("/email") { return .metadata(Self.machine) }
            if url.hasSuffix("/universe-domain") { return .metadata("", status: 404) }
            if url.contains("/token") {
                var response = UpstreamResponse.json([
                    "access_token": "MARKED-access", "expires_in": .integer(3599), "token_type": "Bearer",
                ])
                response.headers = [("Metadata-Flavor", "Google")]
                return response
            }
            return .metadata("computeMetadata/")
        case "www.googleapis.com":
            return UpstreamResponse(status: 200, body: JWKS.write([try Self.key.get().publicKey()]))
        case "iamcredentials.googleapis.com": return try await Self.iam(request)
        default: return UpstreamResponse(status: 404)
        }
    }

    private static func iam(_ request: UpstreamRequest) async throws -> UpstreamResponse {
        guard request.header("authorization")?.hasPrefix("Bearer MARKED") == true else {
            return .json(["error": ["status": "UNAUTHENTICATED"]], status: 401)
        }
        let signer = try LocalSigner(Self.key.get())
        if request.url.hasSuffix(":generateAccessToken") {
            return .json(["accessToken": "MARKED-impersonated", "expireTime": "2026-01-01T01:00:00.123456789Z"])
        }
        let payload = request.json["payload"]?.string ?? ""
        if request.url.hasSuffix(":signJwt") {
            let signed = try await signer.sign(payload: Array(payload.utf8))
            return .json([
                "keyId": .string(signer.keyID ?? ""), "signedJwt": .string(signed.token.compactSerialization),
            ])
        }
        let signature = try await signer.sign(Array(Data(base64Encoded: payload) ?? Data()))
        return .json([
            "keyId": .string(signer.keyID ?? ""),
            "signedBlob": .string(Data(signature.bytes).base64EncodedString()),
        ])
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByDictionaryLiteral {
    package init(stringLiteral value: String) { self = .string(value) }
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONObject(Dictionary(uniqueKeysWithValues: elements)))
    }
}

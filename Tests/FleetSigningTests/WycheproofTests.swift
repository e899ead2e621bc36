// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import Testing

@testable import FleetSigning

/// The JWS vectors of C2SP/wycheproof, which this project did not write.
@Suite(.enabled(if: !SharedFixture.isMissing, "needs ../shared/data/wycheproof"))
struct WycheproofTests {
    struct Vectors: Decodable {
        struct Group: Decodable {
            struct Vector: Decodable {
                let tcId: Int
                let comment: String
                let jws: String
                let result: String
            }
            let comment: String
            let `public`: JWKInFile?
            let `private`: JWKInFile?
            let tests: [Vector]
        }
        let testGroups: [Group]
    }

    /// A JWK as it stands in the file, written back for our own reader.
    struct JWKInFile: Decodable {
        let members: JSONObject

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            var members: JSONObject = [:]
            if let lists = try? container.decode([String: Text].self) { members = JSONObject(lists.mapValues(\.value)) }
            self.members = members
        }

        enum Text: Decodable {
            case one(String)
            case many([String])

            var value: JSONValue {
                switch self {
                case .one(let text): .string(text)
                case .many(let texts): .array(texts.map { .string($0) })
                }
            }

            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                self =
                    try (try? container.decode(String.self)).map { .one($0) } ?? .many(container.decode([String].self))
            }
        }
    }

    /// Vectors that contradict themselves or the strict rule, with the reason; all are HMAC tokens.
    static let contradictions: [Int: String] = [
        367: "the same string as 357, there valid, here invalid",
        370: "the same string as 357, there valid, here invalid",
        372: "valid with a junk character in the header, which strict base64url refuses",
        373: "valid with a junk character in the payload, which strict base64url refuses",
    ]

    private func accepts(_ jws: String, _ jwk: JSONObject) -> Bool {
        let set = JSONValue.object(["keys": .array([.object(jwk)])]).serialized
        guard let keys = try? JWKS.read(set), let token = try? CompactJWS(jws) else { return false }
        return TrustedKeySet(keys).keys(withID: token.keyID ?? "").contains {
            $0.isValidSignature(token.signature, for: token.signingInput)
        }
    }

    @Test func `RS256 agrees with every vector, and every other algorithm is refused`() throws {
        let file = SharedFixture.folder.appending(path: "wycheproof/json_web_signature_test.json")
        let vectors = try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: file))
        var counted = (rs256: 0, other: 0)
        for group in vectors.testGroups {
            let jwk = (group.public ?? group.private)?.members ?? [:]
            for vector in group.tests {
                let header = vector.jws.split(separator: ".").first.flatMap { Base64URL.decode($0.utf8) }
                let algorithm = header.flatMap { try? JSONValue(parsing: $0).object?["alg"]?.string }
                let isRS256 = jwk["alg"]?.string == "RS256" || (jwk["alg"] == nil && algorithm == "RS256")
                if isRS256 {
                    counted.rs256 += 1
                    #expect(
                        self.accepts(vector.jws, jwk) == (vector.result == "valid"),
                        "\(vector.tcId) \(group.comment) \(vector.comment)")
                } else {
                    counted.other += 1
                    #expect(!self.accepts(vector.jws, jwk), "\(vector.tcId) \(group.comment) \(vector.comment)")
                    if Self.contradictions[vector.tcId] != nil { #expect(jwk["kty"]?.string == "oct") }
                }
            }
        }
        #expect(counted.rs256 >= 233)
        #expect(counted.rs256 + counted.other == 401)
    }
}

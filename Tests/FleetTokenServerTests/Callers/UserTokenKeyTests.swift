// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation
import Testing

@testable import FleetTokenServer

/// Keys and signatures that others made, as the RFCs print them.
@Suite struct UserTokenKeyTests {
    static let payload =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"

    static let examples: [(source: String, algorithm: UserTokenAlgorithm, key: JSONObject, token: String)] = [
        (
            "RFC 7515 A.2", .rs256,
            [
                "kty": .string("RSA"), "kid": .string("k"), "e": .string("AQAB"),
                "n": .string(
                    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL"
                        + "-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUs"
                        + "LA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmo"
                        + "udF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"),
            ],
            "eyJhbGciOiJSUzI1NiJ9." + payload + "."
                + "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJ"
                + "dbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN"
                + "9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXL"
                + "IhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
        ),
        (
            "RFC 7515 A.3", .es256,
            [
                "kty": .string("EC"), "crv": .string("P-256"), "kid": .string("k"),
                "x": .string("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"),
                "y": .string("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"),
            ],
            "eyJhbGciOiJFUzI1NiJ9." + payload + "."
                + "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
        ),
        (
            "RFC 8037 A.4", .edDSA,
            [
                "kty": .string("OKP"), "crv": .string("Ed25519"), "kid": .string("k"),
                "x": .string("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"),
            ],
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc."
                + "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
        ),
    ]

    private static func parts(_ token: String) throws -> (input: [UInt8], signature: [UInt8]) {
        let dot = try #require(token.lastIndex(of: "."))
        let signature = try #require(Base64URL.decode(token[token.index(after: dot)...].utf8))
        return (Array(token[..<dot].utf8), signature)
    }

    @Test func `the signatures of the RFCs hold, and no changed one does`() throws {
        for example in Self.examples {
            let key = try #require(UserTokenKey(example.key), "\(example.source)")
            #expect(key.algorithm == example.algorithm)
            let (input, signature) = try Self.parts(example.token)
            #expect(key.isValidSignature(signature, for: input), "\(example.source)")
            #expect(!key.isValidSignature(signature, for: input + [0]), "\(example.source)")
            for changed in [[], Array(signature.dropLast()), signature + [0], signature.reversed()] {
                #expect(!key.isValidSignature(changed, for: input), "\(example.source)")
            }
        }
    }

    @Test(
        arguments: [
            ("kid", nil), ("kid", .string("")), ("kid", .integer(1)), ("kty", .string("oct")), ("kty", nil),
            ("use", .string("enc")), ("key_ops", .array([.string("sign")])), ("key_ops", .string("verify")),
            ("alg", .string("none")), ("alg", .string("HS256")), ("alg", .string("ES384")), ("d", .string("AA")),
            ("crv", .string("P-384")), ("x", .string("AA")), ("x", nil), ("y", nil),
            ("y", .string("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a1")),
            ("y", .string("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU")),
        ] as [(String, JSONValue?)])
    func `a key that cannot be one for users' tokens does not count`(name: String, value: JSONValue?) throws {
        var members = Self.examples[1].key
        #expect(UserTokenKey(members) != nil)
        members[name] = value
        #expect(UserTokenKey(members) == nil)
    }

    @Test func `an RSA key of the generator whose keys can be factored does not count`() {
        // 65537^114 · (32 · M + 1), where M is the product of the odd primes up to 167 (CVE-2017-15361).
        let modulus =
            "ko3u-PK_q09sJiwdblNa4NI4yJCrLYcQ9q-A-DLn7OaBXpnquYrpfYtM0rgdGWy8Uq7nErpCZICIvobkLib4X1aKi3sL"
            + "y_hLLSRxqNMRXWKaSa9FIKBfMAogBXYn37TWZObFhurPp8rQOLffB1ATYa4cLB8mg_rAZqpuH4LE0vtJNL60c8nbYLAu"
            + "x1l5PTLKZ3dK1rchwiHUnbdW7VoWZKicRNOj08ihrht2BYFNufEgiJIWlsRFdzljbL9mlUBPKkj7Rn5ZAwxBHDp2a_lE"
            + "QQAUeVHuv7xJTI8Nia3KRRBaT0R1Vrm52meoVuYd6vUxDYRt2e_D974b-gEFwKe8YQ"
        var members = Self.examples[0].key
        members["n"] = .string(modulus)
        #expect(UserTokenKey(members) == nil)
    }

    @Test(arguments: [
        ("e", "AQ"), ("e", "Ag"), ("e", ""), ("e", "AQAAAAE"), ("n", "AQAB"), ("n", String(repeating: "A", count: 342)),
        ("n", String(repeating: "_", count: 2000)), ("n", String(repeating: "_", count: 1366) + "8"), ("e", "AQAC"),
    ])
    func `a weak or endless RSA key does not count`(name: String, value: String) throws {
        var members = Self.examples[0].key
        members[name] = .string(value)
        #expect(UserTokenKey(members) == nil)
    }

    @Test(arguments: [(0, "no signature key"), (1, nil), (64, nil), (65, "more than 64 keys")] as [(Int, String?)])
    func `a key set has a key of use, and 64 entries at most`(count: Int, problem: String?) throws {
        let keys = Array(repeating: JSONValue.object(Self.examples[2].key), count: count)
        let bytes = JSONValue.object(["keys": .array(keys)]).serialized
        guard let problem else {
            #expect(try UserTokenKeySet(parsing: bytes).keys.count == count)
            return
        }
        let error = #expect(throws: KeySetError.self) { try UserTokenKeySet(parsing: bytes) }
        #expect(error?.message.contains(problem) == true)
    }

    @Test(
        arguments: [
            (nil, nil), ("", nil), ("public", nil), ("max-age=600", 600), ("public, Max-Age = 600 , x=y", 600),
            ("max-age=\"600\"", 600), ("max-age", nil), ("max-age=", nil), ("max-age=-1", nil), ("max-age=x", nil),
            ("no-store, max-age=600", 0), ("max-age=600, no-cache", 0),
            ("max-age=99999999999999999999999", 4_294_967_296), ("s-maxage=5", nil),
        ] as [(String?, Int?)])
    func `the time that keys may be used for is read from the header`(header: String?, seconds: Int?) {
        #expect(KeySetFetch.maximumAge(ofCacheControl: header) == seconds.map { .seconds($0) })
    }
}

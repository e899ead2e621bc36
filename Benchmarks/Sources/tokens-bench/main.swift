// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import FleetSigning
import FleetTokens
import Foundation

let key = try ServiceAccountKey(generatingFor: "driver@bench.iam.gserviceaccount.com", projectID: "bench")
let rawKey = try _RSA.Signing.PrivateKey(keySize: .bits2048)
let minter = TokenMinter(signer: try LocalSigner(key))
let claims = try AuthorizationClaims(vehicle: .only(VehicleID(checking: "vehicle-0001")))
let now = Date()
let token = try await minter.mint(claims, at: now).token.compactSerialization
let message = Array(token.utf8.prefix { $0 != UInt8(ascii: "~") })
let rawSignature = try rawKey.signature(for: Crypto.SHA256.hash(data: message), padding: .insecurePKCS1v1_5)
let keys = TrustedKeySet([try key.publicKey()])
let cached = TokenVerifier(keys: keys)
let uncached = TokenVerifier(keys: keys, cacheCapacity: 0)
_ = try cached.verify(token, at: now)

let mint = try await Comparison.run(
    operations: 100,
    subject: { for _ in 0..<$0 { _ = try await minter.mint(claims, at: now) } },
    peer: {
        for _ in 0..<$0 {
            _ = try rawKey.signature(for: Crypto.SHA256.hash(data: message), padding: .insecurePKCS1v1_5)
        }
    }
)
print("mint ns/op", mint.subject, "raw sign", mint.peer, "rate ratio", mint.peer / mint.subject)

func rawVerify(_ count: Int) {
    for _ in 0..<count {
        precondition(
            rawKey.publicKey.isValidSignature(
                rawSignature, for: Crypto.SHA256.hash(data: message), padding: .insecurePKCS1v1_5))
    }
}
let verifyCold = try await Comparison.run(
    operations: 2000,
    subject: { for _ in 0..<$0 { _ = try uncached.verify(token, at: now) } },
    peer: { rawVerify($0) }
)
print(
    "verify uncached ns/op", verifyCold.subject, "raw", verifyCold.peer, "ratio", verifyCold.peer / verifyCold.subject)
let verifyHot = try await Comparison.run(
    operations: 2000,
    subject: { for _ in 0..<$0 { _ = try cached.verify(token, at: now) } },
    peer: { rawVerify($0) }
)
print("verify cached ns/op", verifyHot.subject, "raw", verifyHot.peer, "ratio", verifyHot.peer / verifyHot.subject)

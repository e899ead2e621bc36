// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import FleetSigning
import FleetTokenClient
import FleetTokens
import Foundation
import Synchronization

// What a token costs: minted, verified, remembered, and handed out by an app's provider. Each row has a peer that ran by
// turns in this process.

let account = "driver@bench.iam.gserviceaccount.com"
let key = try ServiceAccountKey(generatingFor: account, projectID: "bench")
let rawKey = try _RSA.Signing.PrivateKey(keySize: .bits2048)
let rawPublicKey = rawKey.publicKey
let vehicle = try VehicleID(checking: "vehicle-0001")
let claims = try TokenType.driver(vehicle).claims
let minter = TokenMinter(signer: try LocalSigner(key))
let now = Date()
let token = try await minter.mint(claims, at: now).token.compactSerialization
let message = Array(token.utf8)
let rawSignature = try rawKey.signature(for: Crypto.SHA256.hash(data: message), padding: .insecurePKCS1v1_5)

func row(_ name: String, _ comparison: Comparison, peer: String, limit: String) {
    let microseconds = comparison.subject / 1000
    print(
        String(
            format: "| %@ | %.2f µs | %@: %.2f µs | %.2f × | %@ |", name, microseconds, peer, comparison.peer / 1000,
            comparison.peer / comparison.subject, limit))
}

@Sendable func sign(_ count: Int) throws {
    for _ in 0..<count {
        _ = try rawKey.signature(for: Crypto.SHA256.hash(data: message), padding: .insecurePKCS1v1_5)
    }
}

@Sendable func checkSignature(_ count: Int) {
    for _ in 0..<count {
        let isValid = rawPublicKey.isValidSignature(
            rawSignature, for: Crypto.SHA256.hash(data: message), padding: .insecurePKCS1v1_5)
        precondition(isValid)
    }
}

row(
    "mint, checked before release",
    try await Comparison.run(
        operations: 100, subject: { for _ in 0..<$0 { _ = try await minter.mint(claims, at: now) } }, peer: sign),
    peer: "RSA-2048 signature", limit: "at least 0.90 ×")

let keys = TrustedKeySet([try key.publicKey()])
let forgetful = TokenVerifier(keys: keys, cacheCapacity: 0)
row(
    "verify, uncached",
    try await Comparison.run(
        operations: 2000, subject: { for _ in 0..<$0 { _ = try forgetful.verify(token, at: now) } },
        peer: checkSignature),
    peer: "RSA-2048 check", limit: "at least 0.80 ×")

let remembering = TokenVerifier(keys: keys)
row(
    "verify, remembered",
    try await Comparison.run(
        operations: 2000, subject: { for _ in 0..<$0 { _ = try remembering.verify(token, at: now) } },
        peer: checkSignature),
    peer: "RSA-2048 check", limit: "at least 20 ×")

guard let server = URL(string: "http://127.0.0.1:1") else { fatalError("The URL is wrong.") }
let answer = try JSONEncoder().encode(["jwt": token, "expires_in": "3299"])
let provider = try FleetTokenProvider(endpoint: .fleetpass(server), transport: ConstantTransport(body: answer))
let subject = TokenSubject.driver(vehicle)
let wanted = try await provider.token(for: subject)
let dictionary = Mutex([subject: wanted])
row(
    "token(for:), cached",
    try await Comparison.run(
        operations: 100_000,
        subject: { for _ in 0..<$0 { _ = try await provider.token(for: subject) } },
        peer: { for _ in 0..<$0 { precondition(dictionary.withLock { $0[subject] } != nil) } }),
    peer: "dictionary under a lock", limit: "under 1 µs")

// What a call leaves behind would show a million times.
if let before = try? residentKiB() {
    for _ in 0..<1_000_000 { _ = try await provider.token(for: subject) }
    print("| the same, a million calls | \(try residentKiB() - before) KiB more of memory | | | no growth |")
}

/// The memory that this process holds, on Linux.
///
/// - Returns: KiB.
/// - Throws: An error where there is no `/proc`.
func residentKiB() throws -> Int {
    let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
    return (pages.dropFirst().first.flatMap { Int($0) } ?? 0) * 4
}

/// Answers every request with the same body.
struct ConstantTransport: HTTPTransport {
    let body: Data

    func send(_ request: HTTPTransportRequest) async throws -> HTTPTransportResponse {
        HTTPTransportResponse(status: 200, headers: [], body: self.body)
    }
}

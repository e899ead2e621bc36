// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation
import Testing

/// One key for all tests; making one takes a tenth of a second.
enum TestKeys {
    static let driver = Result {
        try ServiceAccountKey(generatingFor: "driver@acme.iam.gserviceaccount.com", projectID: "acme")
    }
    static let server = Result {
        try ServiceAccountKey(generatingFor: "server@acme.iam.gserviceaccount.com", projectID: "acme")
    }

    static func trusted() throws -> TrustedKeySet {
        let provider = ProviderID("acme")
        return TrustedKeySet([
            try self.driver.get().publicKey(role: .driver, provider: provider),
            try self.server.get().publicKey(role: .server, provider: provider),
        ])
    }
}

@Suite struct TokenMinterTests {
    static let now = Date(timeIntervalSince1970: 1_767_225_600.7)

    private func claims() throws -> AuthorizationClaims {
        try TokenType.driver(VehicleID(checking: "veh-3")).claims
    }

    @Test func `a token is a function of claims, key and time`() async throws {
        let key = try TestKeys.driver.get()
        let first = try await TokenMinter(signer: LocalSigner(key)).mint(self.claims(), at: Self.now)
        let second = try await TokenMinter(signer: LocalSigner(key)).mint(self.claims(), at: Self.now)
        #expect(first.token == second.token)
        let parts = first.token.compactSerialization.split(separator: ".").dropLast().map { part in
            String(decoding: Base64URL.decode(part.utf8) ?? [], as: UTF8.self)
        }
        #expect(parts[0] == #"{"alg":"RS256","kid":"\#(key.keyID)","typ":"JWT"}"#)
        #expect(
            parts[1]
                == #"{"aud":"https://fleetengine.googleapis.com/","authorization":{"vehicleid":"veh-3"},"#
                + #""exp":1767228900,"iat":1767225300,"iss":"\#(key.account)","sub":"\#(key.account)"}"#)
    }

    @Test func `a token that was minted in another way is described as one of a minter`() async throws {
        let minted = try await TokenMinter(signer: LocalSigner(TestKeys.driver.get())).mint(self.claims(), at: Self.now)
        let described = MintedToken(token: minted.token, claims: minted.claims, keyID: minted.keyID)
        #expect(described == minted)
    }

    @Test func `a minted token is accepted at once and for 50 minutes by every clock within 5 minutes`() async throws {
        let minter = TokenMinter(signer: try LocalSigner(TestKeys.driver.get()))
        let verifier = TokenVerifier(keys: try TestKeys.trusted())
        let base = Date(timeIntervalSince1970: 1_767_225_600)
        let token = try await minter.mint(self.claims(), at: base).token.compactSerialization
        for error in stride(from: -300.0, through: 300, by: 25) {
            for age in stride(from: 0.0, to: 3000, by: 125) {
                #expect(throws: Never.self, "clock \(error) s off, token \(age) s old") {
                    try verifier.verify(token, at: base.addingTimeInterval(error + age))
                }
            }
        }
    }

    @Test func `windows that break a rule cannot be made`() throws {
        for (backdating, lifetime) in [(-1, 3600), (601, 3600), (300, 3601), (300, 899), (0, 599)] {
            #expect(throws: SigningError.self) {
                try MintingWindow(backdating: .seconds(backdating), lifetime: .seconds(lifetime))
            }
        }
        for (backdating, lifetime) in [(0, 600), (600, 1200), (600, 3600)] {
            #expect(throws: Never.self) {
                try MintingWindow(backdating: .seconds(backdating), lifetime: .seconds(lifetime))
            }
        }
        let window = try MintingWindow(backdating: .seconds(60), lifetime: .seconds(1800))
        #expect(window.times(at: 1000) == (940, 2740))
    }

    /// Signs with the wrong key, and may say so.
    struct BrokenSigner: TokenSigner {
        let account: String
        let keyID: String?
        let publicKey: RSAPublicKey?
        var tells = false
        func sign(_ message: [UInt8]) async throws -> TokenSignature {
            var signature = try await LocalSigner(TestKeys.server.get()).sign(message)
            if !self.tells { signature.keyID = nil }
            return signature
        }
    }

    @Test func `a token is not released under the id of another key than signed`() async throws {
        let key = try TestKeys.driver.get()
        let signer = BrokenSigner(account: key.account, keyID: key.keyID, publicKey: nil, tells: true)
        let error = await #expect(throws: SigningError.self) {
            try await TokenMinter(signer: signer).mint(self.claims(), at: Self.now)
        }
        #expect(error?.code == .releaseCheckFailed)
        #expect(error?.message.contains(key.keyID) == true)
    }

    @Test func `a token that does not verify is never released`() async throws {
        let key = try TestKeys.driver.get()
        let signer = BrokenSigner(account: key.account, keyID: key.keyID, publicKey: try key.publicKey())
        let error = await #expect(throws: SigningError.self) {
            try await TokenMinter(signer: signer).mint(self.claims(), at: Self.now)
        }
        #expect(error?.code == .releaseCheckFailed)
        let server = try TestKeys.server.get().publicKey()
        let misnamed = BrokenSigner(account: key.account, keyID: key.keyID, publicKey: server)
        let other = await #expect(throws: SigningError.self) {
            try await TokenMinter(signer: misnamed).mint(self.claims(), at: Self.now)
        }
        #expect(other?.message.contains("names another key than the signer") == true)
        let unchecked = TokenMinter(signer: signer, checksBeforeRelease: false)
        await #expect(throws: Never.self) { try await unchecked.mint(self.claims(), at: Self.now) }
    }

    @Test func `a token that is too long to be read is never released`() async throws {
        let claims = try AuthorizationClaims(additional: ["note": String(repeating: "x", count: 10_000)])
        let error = await #expect(throws: SigningError.self) {
            try await TokenMinter(signer: LocalSigner(TestKeys.driver.get())).mint(claims, at: Self.now)
        }
        #expect(error?.code == .tokenTooLong)
        #expect(error?.message.contains("longer than 12288 bytes") == true)
    }

    @Test func `a signer that does not know its key id sends none, and the token still verifies`() async throws {
        struct RemoteSigner: TokenSigner {
            let local: LocalSigner
            var account: String { self.local.account }
            var keyID: String? { nil }
            var publicKey: RSAPublicKey? { nil }
            func sign(_ message: [UInt8]) async throws -> TokenSignature { try await self.local.sign(message) }
        }
        let signer = RemoteSigner(local: try LocalSigner(TestKeys.driver.get()))
        let token = try await TokenMinter(signer: signer).mint(self.claims(), at: Self.now).token
        #expect(try CompactJWS(token.compactSerialization).keyID == nil)
        let examined = try TokenVerifier(keys: TestKeys.trusted()).verify(token.compactSerialization, at: Self.now)
        #expect(examined.account.role == .driver)
    }
}

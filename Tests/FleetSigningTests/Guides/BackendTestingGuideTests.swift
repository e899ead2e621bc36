// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTestSupport
import FleetTokens
import Foundation
import Testing

/// The lines of the guide "Test a backend that mints tokens".
@Suite struct BackendTestingGuideTests {
    private static let key = Result {
        try ServiceAccountKey(generatingFor: "driver@acme.iam.gserviceaccount.com", projectID: "acme")
    }

    @Test func `a backend mints what a verifier takes until its end`() async throws {
        let vehicle = try VehicleID(checking: "veh-3")
        let clock = ManualClock()
        let date = { Date(timeIntervalSince1970: 1_767_225_600) + clock.now.sinceStart / .seconds(1) }

        let minter = TokenMinter(signer: try LocalSigner(Self.key.get()))
        let verifier = TokenVerifier(keys: TrustedKeySet([try Self.key.get().publicKey(role: .driver)]))

        let minted = try await minter.mint(TokenType.driver(vehicle).claims, at: date())
        let token = minted.token.compactSerialization

        clock.advance(by: .seconds(50 * 60))
        #expect(try verifier.verify(token, at: date()).claims.authorization?.vehicle == .only(vehicle))
        clock.advance(by: .seconds(5 * 60))
        #expect(throws: TokenRefusal.self) { try verifier.verify(token, at: date()) }
    }

    @Test func `a backend says that its signer is away`() async throws {
        let minter = TokenMinter(signer: AbsentSigner())
        let claims = try TokenType.driver(VehicleID(checking: "veh-3")).claims
        let error = await #expect(throws: SigningError.self) { try await minter.mint(claims, at: Date()) }
        #expect(error?.code == .signingFailed)
    }
}

/// A signer whose key service does not answer.
private struct AbsentSigner: PayloadSigner {
    let account = "driver@acme.iam.gserviceaccount.com"

    func sign(payload: [UInt8]) async throws -> SignedToken {
        throw SigningError(code: .signingFailed, message: "The key service did not answer.")
    }
}

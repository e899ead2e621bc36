// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import CryptoExtras
import FleetTokens
import Foundation
import Testing

@testable import FleetSigning

@Suite struct TokenVerifierTests {
    static let now = Date(timeIntervalSince1970: 1_767_225_600)

    private func token(_ vehicle: String = "veh-3") async throws -> String {
        let minter = TokenMinter(signer: try LocalSigner(TestKeys.driver.get()))
        return try await minter.mint(TokenType.driver(VehicleID(checking: vehicle)).claims, at: Self.now)
            .token.compactSerialization
    }

    private func reason(_ verifier: TokenVerifier, _ token: String, at now: Date = now) -> TokenRefusal.Reason? {
        do throws(TokenRefusal) {
            _ = try verifier.verify(token, at: now)
            return nil
        } catch {
            return error.reason
        }
    }

    @Test func `a key without an id is tried for its own account's tokens, and one without an account by its id alone`()
        throws
    {
        let key = try TestKeys.driver.get()
        let text = String(decoding: JWKS.write([try key.publicKey()]), as: UTF8.self)
        let unnamed = Array(text.replacing("\"kid\":\"\(key.keyID)\",", with: "").utf8)
        let accounts = ["a@acme", "b@acme"].map { TrustedAccount(email: $0, role: .driver, provider: nil) }
        let keys = try (accounts + [nil]).flatMap { try JWKS.read(unnamed, named: "set", account: $0) }
        let set = TrustedKeySet(keys)
        #expect(keys.count == 3)
        #expect(set.unnamedKeys(ofAccount: "a@acme").map { $0.account?.email } == ["a@acme", nil])
        #expect(set.keys(ofAccount: "a@acme").map { $0.account?.email } == ["a@acme"])
        #expect(set.keys(ofAccount: "c@acme").isEmpty)
    }

    @Test func `a key is another one if its bits, its account or its end is`() throws {
        let (key, other) = (try TestKeys.driver.get(), try TestKeys.server.get())
        let accounts = ["a@acme", "b@acme"].map { TrustedAccount(email: $0, role: .driver, provider: nil) }
        let text = String(decoding: JWKS.write([try other.publicKey()]), as: UTF8.self)
        let twin = try #require(
            try JWKS.read(Array(text.replacing(other.keyID, with: key.keyID).utf8), account: accounts[0]).first)
        let own = try key.publicKey().bound(to: accounts[0])
        #expect(own.isSame(as: own))
        #expect(own.id == twin.id && !own.isSame(as: twin))
        #expect(!own.isSame(as: try own.bound(to: accounts[1])))
    }

    @Test func `what one source withdraws stays withdrawn whatever another says`() {
        let list = RevocationList()
        list.replace(fingerprints: [], keyIDs: ["a"], from: "store")
        list.replace(fingerprints: [], keyIDs: ["b"], from: "https://tokens.example")
        #expect(list.holds(keyID: "a") && list.holds(keyID: "b"))
        list.replace(fingerprints: [], keyIDs: [], from: "store")
        #expect(!list.holds(keyID: "a") && list.holds(keyID: "b"))
    }

    @Test func `any changed bit is refused`() async throws {
        let verifier = TokenVerifier(keys: try TestKeys.trusted())
        let token = try await self.token()
        #expect(self.reason(verifier, token) == nil)
        for index in stride(from: 0, to: token.utf8.count, by: 7) {
            var bytes = Array(token.utf8)
            bytes[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let changed = String(decoding: bytes, as: UTF8.self)
            guard changed != token else { continue }
            #expect(self.reason(verifier, changed) != nil, "byte \(index)")
        }
    }

    @Test func `a remembered token is refused from the second it expires`() async throws {
        let verifier = TokenVerifier(keys: try TestKeys.trusted())
        let token = try await self.token()
        #expect(self.reason(verifier, token) == nil)
        #expect(self.reason(verifier, token, at: Self.now.addingTimeInterval(3299)) == nil)
        #expect(self.reason(verifier, token, at: Self.now.addingTimeInterval(3300)) == .tokenExpired)
    }

    @Test func `a remembered token is forgotten when its key is withdrawn`() async throws {
        let verifier = TokenVerifier(keys: try TestKeys.trusted())
        let token = try await self.token()
        #expect(self.reason(verifier, token) == nil)
        verifier.replaceKeys(TrustedKeySet([try TestKeys.server.get().publicKey()]))
        #expect(self.reason(verifier, token) == .keyUnknown)
    }

    @Test func `a token whose key is withdrawn while it is verified is not remembered`() async throws {
        let verifier = TokenVerifier(keys: try TestKeys.trusted())
        let token = try await self.token()
        let generation = verifier.keysInForce.generation
        let examined = try verifier.verify(token, at: Self.now)
        verifier.replaceKeys(TrustedKeySet([try TestKeys.server.get().publicKey()]))
        verifier.remember(examined, TokenVerifier.digest(of: token), verifiedWith: generation)
        #expect(self.reason(verifier, token) == .keyUnknown)
    }

    @Test(arguments: [0, 100])
    func `withdrawing a key without an id of its own withdraws its tokens, whatever id they name`(
        capacity: Int
    ) async throws {
        let key = try TestKeys.driver.get()
        let pem = Data(key.privateKey.publicKey.pemRepresentation.utf8)
        let keys = try TrustedKeySet.read(pem, named: key.account).map {
            try $0.bound(to: TrustedAccount(email: key.account, role: .driver))
        }
        let list = RevocationList()
        let verifier = TokenVerifier(keys: TrustedKeySet(keys), revocations: list, cacheCapacity: capacity)
        let token = try await self.token()
        let examined = try verifier.verify(token, at: Self.now)
        #expect(examined.keyID == key.keyID && examined.trustedKeyID == key.account)
        list.replace(fingerprints: [], keyIDs: [key.account])
        #expect(self.reason(verifier, token) == .tokenRevoked)
        list.replace(fingerprints: [], keyIDs: [key.keyID])
        #expect(self.reason(verifier, token) == .tokenRevoked)
        list.replace(fingerprints: [], keyIDs: ["another"])
        #expect(self.reason(verifier, token) == nil)
    }

    @Test func `an explanation refuses what is withdrawn as the verifier does`() async throws {
        let list = RevocationList()
        let verifier = TokenVerifier(keys: try TestKeys.trusted(), revocations: list)
        let request = AccessRequest(
            method: .getVehicle, resource: try ResourceName(checking: "providers/acme/vehicles/veh-3"))
        let token = try await self.token()
        #expect(verifier.explain(token, request: request, at: Self.now).isAllowed)
        let withdrawals: [(fingerprints: [String], keyIDs: [String])] = [
            ([FleetToken(token).fingerprint], []), ([], [try TestKeys.driver.get().keyID]),
        ]
        for withdrawn in withdrawals {
            list.replace(fingerprints: withdrawn.fingerprints, keyIDs: withdrawn.keyIDs)
            #expect(self.reason(verifier, token) == .tokenRevoked)
            let explanation = verifier.explain(token, request: request, at: Self.now)
            #expect(explanation.refusal?.reason == .tokenRevoked && !explanation.isAllowed)
        }
        let unasked = TokenVerifier(keys: try TestKeys.trusted())
            .explain(token, request: request, at: Self.now)
        #expect(unasked.isAllowed)
        #expect(
            unasked.checks.first { $0.rule == .revocation }?.outcome == .notReached("withdrawals are not looked at"))
    }

    @Test func `many threads verify and replace keys without harm`() async throws {
        let verifier = TokenVerifier(keys: try TestKeys.trusted(), cacheCapacity: 8)
        let tokens = try await [self.token("a"), self.token("b"), self.token("c")]
        let keys = try TestKeys.trusted()
        await withTaskGroup(of: Void.self) { group in
            for round in 0..<200 {
                group.addTask {
                    if round.isMultiple(of: 10) { verifier.replaceKeys(keys) }
                    #expect(self.reason(verifier, tokens[round % 3]) == nil)
                }
            }
        }
    }
}

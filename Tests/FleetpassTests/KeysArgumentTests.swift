// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetSigning
import FleetTokens
import Foundation
import Testing

@testable import fleetpass

@Suite struct KeysArgumentTests {
    private static let vehicle = "providers/acme/vehicles/veh-3"
    private let folder = FileManager.default.temporaryDirectory.appending(path: "fleetpass-keys-\(UUID().uuidString)")
    private let key: ServiceAccountKey

    init() throws {
        self.key = try ServiceAccountKey(generatingFor: "driver@acme.iam.gserviceaccount.com", projectID: "acme")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
    }

    private func argument(_ name: String = "") -> KeysArgument {
        KeysArgument(location: self.folder.appending(path: name).path(percentEncoded: false))
    }

    private func write(_ bytes: some Sequence<UInt8>, to name: String) throws {
        try Data(bytes).write(to: self.folder.appending(path: name))
    }

    /// A token of the key's account, whose header names the key or none.
    private func token(naming id: String?) async throws -> String {
        let now = Int64(Date().timeIntervalSince1970)
        let claims = TokenClaims(
            account: self.key.account, issuedAt: now - 300, expiresAt: now + 3300,
            authorization: try TokenType.driver(VehicleID(checking: "veh-3")).claims)
        let signer = try LocalSigner(self.key)
        let input = LocalSigner.signingInput(keyID: id, payload: claims.payload)
        return LocalSigner.token(input, try await signer.sign(input).bytes).compactSerialization
    }

    private func refusal(of token: String, by verifier: TokenVerifier) -> TokenRefusal.Reason? {
        do throws(TokenRefusal) {
            _ = try verifier.verify(token, at: Date())
            return nil
        } catch {
            return error.reason
        }
    }

    @Test func `a token that names no key is tried with the keys of a set that names no account`() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let other = try ServiceAccountKey(generatingFor: "other@acme", projectID: "acme")
        try self.write(JWKS.write([try other.publicKey(), try self.key.publicKey()]), to: "set.json")
        try self.write(JWKS.write([try other.publicKey()]), to: "others.json")
        let token = try await self.token(naming: nil)
        let verifier = try await self.argument("set.json").verifier()
        #expect(try verifier.verify(token, at: Date()).keyID == self.key.keyID)
        #expect(self.refusal(of: try await self.token(naming: "unknown"), by: verifier) == .keyUnknown)
        let others = try await self.argument("others.json").verifier()
        #expect(self.refusal(of: token, by: others) == .signatureInvalid)
    }

    @Test func `a certificate that has ended holds no key`() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let file = self.folder.appending(path: "partner.pem").path(percentEncoded: false)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "/dev/null", "-out", file, "-subj",
            "/CN=partner", "-days", "1",
        ]
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        #expect(try await self.argument("partner.pem").read().keys.count == 1)
        let failure = await #expect(throws: CommandFailure.self) {
            try await self.argument("partner.pem").read(at: Date() + 2 * 86_400)
        }
        #expect(failure?.message.contains("no key for RS256 signatures that is valid now") == true)
    }

    @Test func `a data folder also tells what is withdrawn`() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        try self.write(self.key.keyFile, to: "driver.json")
        let token = try await self.token(naming: self.key.keyID)
        let unasked = try await self.argument().verifier()
        #expect(!unasked.looksAtWithdrawals && self.refusal(of: token, by: unasked) == nil)
        try self.write([], to: TokenStoreOptions.fileName)
        let path = self.folder.path(percentEncoded: false)
        try await RevokeCommand.parse(["--data", path, "--key", "another"]).run()
        let asked = try await self.argument().verifier()
        #expect(asked.looksAtWithdrawals && self.refusal(of: token, by: asked) == nil)
        try await RevokeCommand.parse(["--data", path, "--key", self.key.keyID]).run()
        let verifier = try await self.argument().verifier()
        #expect(self.refusal(of: token, by: verifier) == .tokenRevoked)
        let request = AccessRequest(method: .getVehicle, resource: try ResourceName(checking: Self.vehicle))
        let report = ExplanationReport(verifier.explain(token, request: request, at: Date()))
        #expect(!report.allowed && report.reason == "TOKEN_REVOKED")
        let unverified = TokenExaminer().explain(token, request: request, keys: nil, now: Date())
        #expect(!ExplanationReport(unverified).allowed && ExplanationReport(unverified).reason == nil)
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetSigning
import FleetTokenServer
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

    @Test func `a token that names no key is tried with more keys than one account has`() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        func entry(_ key: ServiceAccountKey) throws -> JSONObject {
            try JSONValue(parsing: JWKS.write([key.publicKey()])).object?["keys"]?.array?.first?.object ?? [:]
        }
        let other = try entry(ServiceAccountKey(generatingFor: "other@acme", projectID: "acme"))
        func write(others count: Int) throws {
            let others = (0..<count).map { number in
                var copy = other
                copy["kid"] = .string("k\(number)")
                return JSONValue.object(copy)
            }
            let own = JSONValue.object(try entry(self.key))
            try self.write(JSONValue.object(["keys": .array(others + [own])]).serialized, to: "set.json")
        }
        let token = try await self.token(naming: nil)
        try write(others: 255)
        #expect(try await self.argument("set.json").verifier().verify(token, at: Date()).keyID == self.key.keyID)
        try write(others: 256)
        #expect(self.refusal(of: token, by: try await self.argument("set.json").verifier()) == .keyUnknown)
    }

    @Test func `a folder's hidden files are no keys, and one that is none is named`() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        try self.write(self.key.keyFile, to: "driver.json")
        try self.write([0, 5, 22, 7], to: "._driver.json")
        #expect(try await self.argument().read().keys.map(\.id) == [self.key.keyID])
        try self.write("{".utf8, to: "other.json")
        let failure = await #expect(throws: CommandFailure.self) { try await self.argument().read() }
        #expect(failure?.message.contains(": other is neither PEM nor JSON") == true)
    }

    @Test func `a key that was rotated out is trusted and signs as the key folder's schedule says`() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let next = try ServiceAccountKey(generatingFor: self.key.account, projectID: "acme")
        let rotation = Date(timeIntervalSince1970: 1_767_225_600)
        try self.write(self.key.keyFile, to: "driver.json")
        try self.write(next.keyFile, to: "driver.1767225600.json")
        func trusted(after seconds: Double) async throws -> Set<String> {
            Set(try await self.argument().read(at: rotation + seconds).keys.map(\.id))
        }
        #expect(try await trusted(after: 4799) == [self.key.keyID, next.keyID])
        #expect(try await trusted(after: 4800) == [next.keyID])

        let old = SigningKeyFile(path: self.argument("driver.json").location)
        let new = SigningKeyFile(path: self.argument("driver.1767225600.json").location)
        #expect(old.role == .driver && new.role == .driver)
        #expect(try old.read(at: rotation + 599).keyID == self.key.keyID)
        #expect(try new.read(at: rotation + 600).keyID == next.keyID)
        let failure = #expect(throws: CommandFailure.self) { try old.read(at: rotation + 600) }
        #expect(failure?.status == .configuration)
        #expect(failure?.message.contains("signs no more") == true)
        #expect(failure?.message.hasSuffix("use \(new.path).") == true)
        // Elsewhere, where no key folder tells, it is a key as any.
        try self.write(self.key.keyFile, to: "copy.json")
        #expect(try SigningKeyFile(path: self.argument("copy.json").location).read().keyID == self.key.keyID)
    }

    @Test func `a folder's keys are read though one is retired meanwhile`() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let next = try ServiceAccountKey(generatingFor: self.key.account, projectID: "acme")
        let rotation = Date(timeIntervalSince1970: 1_767_225_600)
        try self.write(self.key.keyFile, to: "driver.json")
        try self.write(next.keyFile, to: "driver.1767225600.json")
        // A pipe tells when it is read, which is once the files are listed.
        let pipe = self.argument("consumer.json").location
        #expect(mkfifo(pipe, 0o600) == 0)
        try self.write(self.key.keyFile, to: "consumer.new")
        let (folder, bytes) = (self.folder.path(percentEncoded: false), self.key.keyFile)
        Thread.detachNewThread {
            let descriptor = open(pipe, O_WRONLY | O_CLOEXEC)
            rename("\(folder)/consumer.new", pipe)
            rename("\(folder)/driver.1767225600.json", "\(folder)/driver.json")
            let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            try? file.write(contentsOf: bytes)
            try? file.close()
        }
        let keys = try await self.argument().read(at: rotation)
        #expect(Set(keys.keys.map(\.id)) == [self.key.keyID, next.keyID])
    }

    @Test func `no key of a folder is trusted or signs where its list of retired ones cannot be read`() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        try self.write(self.key.keyFile, to: "driver.json")
        try FileManager.default.createDirectory(
            at: self.folder.appending(path: ".retired"), withIntermediateDirectories: false)
        let trusting = await #expect(throws: CommandFailure.self) { try await self.argument().read() }
        let signing = #expect(throws: CommandFailure.self) {
            try SigningKeyFile(path: self.argument("driver.json").location).read()
        }
        for failure in [trusting, signing] {
            #expect(failure?.status == .configuration)
            #expect(failure?.message.contains("the list of the keys that were retired, cannot be read") == true)
        }
    }

    @Test func `a link to a key that was rotated out signs no more, and a mounted secret's links are keys`() throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let next = try ServiceAccountKey(generatingFor: self.key.account, projectID: "acme")
        let rotation = Date(timeIntervalSince1970: 1_767_225_600)
        // As Kubernetes mounts a secret.
        for folder in ["..2026", "elsewhere"] {
            try FileManager.default.createDirectory(
                at: self.folder.appending(path: folder), withIntermediateDirectories: true)
        }
        try self.write(self.key.keyFile, to: "..2026/driver.json")
        try self.write(next.keyFile, to: "..2026/driver.1767225600.json")
        for (link, target) in [
            ("..data", "..2026"), ("driver.json", "..data/driver.json"),
            ("driver.1767225600.json", "..data/driver.1767225600.json"), ("link.json", "driver.json"),
            ("elsewhere/driver.json", "../driver.json"), ("next.json", "driver.1767225600.json"),
        ] {
            try FileManager.default.createSymbolicLink(
                atPath: self.argument(link).location, withDestinationPath: target)
        }
        for name in ["driver.json", "link.json", "elsewhere/driver.json"] {
            let file = SigningKeyFile(path: self.argument(name).location)
            #expect(file.role == .driver)
            #expect(try file.read(at: rotation + 599).keyID == self.key.keyID)
            let failure = #expect(throws: CommandFailure.self) { try file.read(at: rotation + 600) }
            #expect(failure?.message.contains("signs no more") == true)
        }
        for name in ["driver.1767225600.json", "next.json"] {
            let file = SigningKeyFile(path: self.argument(name).location)
            #expect(try file.read(at: rotation + 600).keyID == next.keyID)
        }
    }

    @Test func `a key may come through a pipe, and what cannot be read is told with the reason`() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        func piped(_ body: (String) async throws -> Void) async throws {
            let pipe = Pipe()
            try pipe.fileHandleForWriting.write(contentsOf: self.key.keyFile)
            try pipe.fileHandleForWriting.close()
            try await body("/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)")
            try pipe.fileHandleForReading.close()
        }
        try await piped { path in
            let signing = try SigningKeyFile(path: path).read()
            #expect(signing.keyID == self.key.keyID)
        }
        try await piped { path in
            let trusted = try await KeysArgument(location: path).read()
            #expect(trusted.keys.map(\.id) == [self.key.keyID])
        }

        let folder = self.folder.path(percentEncoded: false)
        try self.write(Data(count: InputFile.maximumBytes + 1), to: "long.json")
        for (path, reason) in [
            (folder, "is a folder, not a file"), ("\(folder)/none.json", "is missing"),
            ("\(folder)/long.json", "is longer than 1048576 bytes"),
        ] {
            let failure = #expect(throws: CommandFailure.self) { try SigningKeyFile(path: path).read() }
            #expect(failure?.status == .configuration && failure?.message.contains(reason) == true)
        }
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
        let path = self.folder.path(percentEncoded: false)
        try TokenServerStore(creatingAt: TokenServerStore.file(inFolder: path)).close()
        try await RevokeCommand.parse(["--data", path, "--key", "another"]).run()
        let asked = try await self.argument().verifier()
        #expect(asked.looksAtWithdrawals && self.refusal(of: token, by: asked) == nil)
        try await RevokeCommand.parse(["--data", path, "--key", self.key.keyID]).run()
        let verifier = try await self.argument().verifier()
        #expect(self.refusal(of: token, by: verifier) == .tokenRevoked)
        let failure = await #expect(throws: CommandFailure.self) {
            try await LintCommand.parse([token, "--keys", path]).run()
        }
        #expect(failure?.status == .failed && failure?.message.contains("TOKEN_REVOKED") == true)
        let request = AccessRequest(method: .getVehicle, resource: try ResourceName(checking: Self.vehicle))
        let report = ExplanationReport(verifier.explain(token, request: request, at: Date()))
        #expect(!report.allowed && report.reason == "TOKEN_REVOKED")
        let unverified = TokenExaminer().explain(token, request: request, keys: nil, now: Date())
        #expect(!ExplanationReport(unverified).allowed && ExplanationReport(unverified).reason == nil)
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation
import Testing

@Suite struct KeyReadingTests {
    /// Runs OpenSSL and gives its output; the keys of these tests are made by it, not by us.
    func openSSL(_ arguments: [String], input: Data? = nil) throws -> Data {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        let output = Pipe()
        let feed = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = feed
        try process.run()
        if let input { try feed.fileHandleForWriting.write(contentsOf: input) }
        try feed.fileHandleForWriting.close()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "openssl \(arguments.joined(separator: " "))")
        return data
    }

    private func folder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "fleetpass-keys-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    @Test func `OpenSSL and we accept each other's keys and signatures`() async throws {
        let folder = try self.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let pem = try self.openSSL(["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"])
        let keyFile = folder.appending(path: "key.pem")
        try pem.write(to: keyFile)
        let key = try ServiceAccountKey(
            pem: String(decoding: pem, as: UTF8.self).replacingOccurrences(of: "\n", with: "\r\n"),
            account: "driver@acme", keyID: "k1")
        let token = try await TokenMinter(signer: LocalSigner(key)).mint(
            TokenType.driver(VehicleID(checking: "veh-3")).claims, at: Date())
        let jws = try CompactJWS(token.token.compactSerialization)
        let (signature, message) = (folder.appending(path: "sig"), folder.appending(path: "msg"))
        try Data(jws.signature).write(to: signature)
        try Data(jws.signingInput).write(to: message)
        let keyPath = keyFile.path(percentEncoded: false)
        let signed = ["-signature", signature.path(percentEncoded: false), message.path(percentEncoded: false)]
        _ = try self.openSSL(["dgst", "-sha256", "-prverify", keyPath] + signed)

        let publicPEM = try self.openSSL(["pkey", "-in", keyPath, "-pubout"])
        let certificate = try self.openSSL(["req", "-x509", "-key", keyPath, "-subj", "/CN=driver@acme", "-days", "1"])
        for text in [publicPEM, certificate] {
            let read = try TrustedKeySet.read(text, named: "k1")
            #expect(read.first?.isValidSignature(jws.signature, for: jws.signingInput) == true)
        }
        let later = Date() + 2 * 86_400
        #expect(try TrustedKeySet.read(certificate, named: "k1", validAt: Date()).count == 1)
        #expect(try TrustedKeySet.read(certificate, named: "k1", validAt: later).isEmpty)
        #expect(try TrustedKeySet.read(publicPEM, named: "k1", validAt: later).count == 1)
        let google = JSONValue.object(["k1": .string(String(decoding: certificate, as: UTF8.self))]).serialized
        #expect(try TrustedKeySet.read(Data(google), named: "x509").map(\.id) == ["k1"])
        let pkcs1 = try self.openSSL(["rsa", "-in", keyPath, "-traditional"])
        #expect(throws: Never.self) {
            try ServiceAccountKey(pem: String(decoding: pkcs1, as: UTF8.self), account: "a", keyID: "k")
        }
    }

    @Test func `a certificate is used from its first second to its last`() throws {
        let key = try self.openSSL(["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"])
        let certificate = try self.openSSL(
            ["req", "-x509", "-key", "/dev/stdin", "-subj", "/CN=driver@acme", "-days", "1"], input: key)
        let dates = try self.openSSL(["x509", "-noout", "-dates", "-dateopt", "iso_8601"], input: certificate)
        // notBefore=2026-01-31 12:00:00Z, and the same of notAfter.
        let times = String(decoding: dates, as: UTF8.self).split(separator: "\n").compactMap { line in
            RFC3339.date(line.drop { $0 != "=" }.dropFirst().replacingOccurrences(of: " ", with: "T"))
        }
        try #require(times.count == 2)
        for (time, isUsed) in [(times[0] - 1, false), (times[0], true), (times[1], true), (times[1] + 1, false)] {
            let keys = try TrustedKeySet.read(certificate, named: "k1", validAt: time)
            #expect(keys.isEmpty == !isUsed, "\(time)")
        }
    }

    @Test func `weak and foreign keys are refused`() throws {
        let weak = try self.openSSL(["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"])
        let elliptic = try self.openSSL(["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"])
        for pem in [weak, elliptic, Data("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----".utf8)] {
            let error = #expect(throws: SigningError.self) {
                try ServiceAccountKey(pem: String(decoding: pem, as: UTF8.self), account: "a", keyID: "k")
            }
            #expect(error?.code == .invalidKey)
        }
    }

    /// A modulus of 2048 bits of the form of the faulty generator's: a power of 65537 modulo every prime up to 167.
    private func faultyModulus() -> [UInt8] {
        // Little-endian; with M the product of the primes, it is 65537^114 · (32 · M + 1).
        var modulus: [UInt8] = [1]
        func multiply(by factor: Int, adding addend: Int = 0) {
            var carry = addend
            for index in modulus.indices {
                carry += Int(modulus[index]) * factor
                modulus[index] = UInt8(carry & 0xFF)
                carry >>= 8
            }
            while carry > 0 {
                modulus.append(UInt8(carry & 0xFF))
                carry >>= 8
            }
        }
        for number in 3...167 where !(2..<number).contains(where: { number % $0 == 0 }) { multiply(by: number) }
        multiply(by: 32, adding: 1)
        for _ in 0..<114 { multiply(by: 65537) }
        return modulus.reversed()
    }

    @Test func `a key of the generator whose keys can be factored is refused`() throws {
        let modulus = self.faultyModulus()
        #expect(modulus.count == 256 && modulus[0] >= 0x80)
        #expect(FaultyGenerator.made(modulus))
        for index in modulus.indices {
            var changed = modulus
            changed[index] ^= 2
            #expect(!FaultyGenerator.made(changed), "\(index)")
        }
        let text = JSONValue.string(String(decoding: Base64URL.encode(modulus), as: UTF8.self))
        let error = #expect(throws: SigningError.self) { try JWKS.read(self.set { $0["n"] = text }) }
        #expect(error?.code == .invalidKey)
        #expect(error?.message.contains("CVE-2017-15361") == true)
    }

    @Test func `a new key is none of the faulty generator's`() throws {
        for _ in 0..<4 {
            let key = try ServiceAccountKey(generatingFor: "driver@acme", projectID: nil).publicKey()
            #expect(key.primitives.map { FaultyGenerator.made($0.modulus) } == false)
        }
    }

    @Test(arguments: [
        ("a@acme", "k", true), ("", "k", false), ("a@acme", "", false),
        ("a@acme", String(repeating: "k", count: 256), true), ("a@acme", String(repeating: "k", count: 257), false),
    ])
    func `a key has an account and an id that verifiers take`(account: String, id: String, isTaken: Bool) throws {
        let file = try JSONValue(parsing: TestKeys.driver.get().keyFile).object
        let pem = try #require(file?["private_key"]?.string)
        let key = try? ServiceAccountKey(pem: pem, account: account, keyID: id)
        #expect((key != nil) == isTaken)
    }

    @Test func `a key file survives writing and reading, and shows no key`() throws {
        let key = try TestKeys.driver.get()
        let read = try ServiceAccountKey(json: key.keyFile)
        #expect(read.account == key.account && read.keyID == key.keyID && read.projectID == "acme")
        var dumped = ""
        dump(key, to: &dumped)
        for text in ["\(key)", String(reflecting: key), dumped] { #expect(!text.contains("PRIVATE")) }
    }

    @Test(arguments: [
        ("not json", "not JSON"), ("{}", "\"type\""), (#"{"type":"authorized_user"}"#, "service_account"),
        (#"{"type":"service_account"}"#, "\"private_key\""),
        (#"{"type":"service_account","private_key":"MARKED","client_email":"a","private_key_id":"k"}"#, "PEM"),
        (#"{"type":"service_account","private_key":7}"#, "\"private_key\""),
        (
            #"{"type":"service_account","private_key":"MARKED","client_email":"a","private_key_id":""#
                + String(repeating: "k", count: 257) + #""}"#, "longer than 256 bytes"
        ),
    ])
    func `a broken key file is named by what is wrong with it`(json: String, wanted: String) {
        let error = #expect(throws: SigningError.self) { try ServiceAccountKey(json: Data(json.utf8)) }
        #expect(error?.message.contains(wanted) == true)
        #expect(error?.description.contains("MARKED") == false)
    }

    @Test func `a key set survives writing and reading`() throws {
        let keys = [try TestKeys.driver.get().publicKey(), try TestKeys.server.get().publicKey()]
        let text = JWKS.write(keys)
        #expect(try JWKS.read(text).map(\.id) == keys.map(\.id))
        #expect(JWKS.write(try JWKS.read(text)) == text)
    }

    /// A set of the driver's key, changed, and of another key where one is wanted beside it.
    private func set(
        beside other: ServiceAccountKey? = nil, _ change: (inout JSONObject) -> Void
    ) throws -> [UInt8] {
        func entry(_ key: ServiceAccountKey) throws -> JSONObject {
            try JSONValue(parsing: JWKS.write([key.publicKey()])).object?["keys"]?.array?.first?.object ?? [:]
        }
        var entries = [try entry(TestKeys.driver.get())]
        change(&entries[0])
        if let other { entries.append(try entry(other)) }
        return JSONValue.object(["keys": .array(entries.map { .object($0) })]).serialized
    }

    @Test func `keys that are not for RS256 are left out, and a set of broken ones alone is an error`() throws {
        for (member, value) in [
            ("use", JSONValue.string("enc")), ("alg", .string("RS512")), ("kty", .string("EC")),
            ("key_ops", .array([.string("encrypt")])), ("key_ops", .string("verify")),
        ] {
            #expect(try JWKS.read(self.set { $0[member] = value }).isEmpty, "\(member)")
        }
        let broken = [
            ("kid", JSONValue?.some(.string(""))), ("kid", .integer(7)), ("n", .string("AAAA")), ("n", nil),
            ("n", .string("AAAA====")), ("e", .string("AA")), ("d", .string("AA")),
            ("kid", .string(String(repeating: "k", count: 257))),
        ]
        let good = try TestKeys.server.get()
        for (member, value) in broken {
            #expect(throws: SigningError.self, "\(member)") { try JWKS.read(self.set { $0[member] = value }) }
            // It takes none of the good keys with it.
            let read = try JWKS.read(self.set(beside: good) { $0[member] = value })
            #expect(read.map(\.id) == [good.keyID], "\(member)")
        }
        let longest = String(repeating: "k", count: 256)
        #expect(try JWKS.read(self.set { $0["kid"] = .string(longest) }).map(\.id) == [longest])
        #expect(throws: SigningError.self) { try JWKS.read(Array(#"{"keys":[7]}"#.utf8)) }
        #expect(throws: SigningError.self) { try JWKS.read(Array(#"{"keys":{}}"#.utf8)) }
    }

    @Test func `a key of a set that has no id checks tokens that name any, as a PEM key does`() async throws {
        let (key, other) = (try TestKeys.driver.get(), try TestKeys.server.get())
        let text = try self.set(beside: other) { $0["kid"] = nil }
        let keys = try TrustedKeySet.read(Data(text), named: "partner")
        #expect(keys.map(\.id) == ["partner", other.keyID])
        let minted = try await TokenMinter(signer: LocalSigner(key)).mint(
            TokenType.driver(VehicleID(checking: "veh-3")).claims, at: TokenMinterTests.now)
        let examined = try TokenVerifier(keys: TrustedKeySet(keys))
            .verify(minted.token.compactSerialization, at: TokenMinterTests.now)
        #expect(examined.keyID == key.keyID && examined.trustedKeyID == "partner")
    }

    @Test func `a PEM text may begin with words, and holds one key`() throws {
        let key = try self.openSSL(["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"])
        let pem = String(decoding: try self.openSSL(["pkey", "-pubout"], input: key), as: UTF8.self)
        for text in [pem, "\n\(pem)", "Subject: a partner\r\n\(pem)\nThe end.\n"] {
            #expect(try TrustedKeySet.read(Data(text.utf8), named: "k1").map(\.id) == ["k1"])
        }
        let error = #expect(throws: SigningError.self) {
            try TrustedKeySet.read(Data((pem + pem).utf8), named: "bundle")
        }
        #expect(error?.message.hasPrefix("bundle holds 2 PEM blocks;") == true)
    }

    @Test func `a file may begin with a byte order mark, whichever keys it holds`() throws {
        let key = try TestKeys.driver.get()
        func marked(_ text: some Sequence<UInt8>) -> Data { Data([0xEF, 0xBB, 0xBF]) + text }
        #expect(try ServiceAccountKey(json: marked(key.keyFile)).keyID == key.keyID)
        let pair = try self.openSSL(["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"])
        let pem = try self.openSSL(["pkey", "-pubout"], input: pair)
        for text in [key.keyFile, Data(JWKS.write([try key.publicKey()])), pem] {
            let read = try TrustedKeySet.read(marked(text), named: "k1")
            #expect(read.map(\.id) == [text == pem ? "k1" : key.keyID])
        }
        // Of more than one, or in another place, it is part of the text.
        #expect(throws: SigningError.self) { try ServiceAccountKey(json: marked(marked(key.keyFile))) }
        #expect(throws: SigningError.self) { try ServiceAccountKey(json: Data("\n".utf8) + marked(key.keyFile)) }
    }

    @Test func `keys of each form belong to the account that is given, or to the one that a key file names`() throws {
        let folder = try self.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let pair = try self.openSSL(["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"])
        let file = folder.appending(path: "key.pem")
        try pair.write(to: file)
        let pem = try self.openSSL(["pkey", "-pubout"], input: pair)
        let certificate = try self.openSSL(
            ["req", "-x509", "-key", file.path(percentEncoded: false), "-subj", "/CN=a", "-days", "1"])
        let google = JSONValue.object(["k1": .string(String(decoding: certificate, as: UTF8.self))]).serialized
        let key = try ServiceAccountKey(
            pem: String(decoding: pair, as: UTF8.self), account: "driver@acme", keyID: "k1")
        let others = [Data(JWKS.write([try key.publicKey()])), pem, certificate, Data(google)]

        let account = TrustedAccount(email: "partner@acme", role: .server, provider: ProviderID("acme"))
        for text in others + [key.keyFile] {
            #expect(try TrustedKeySet.read(text, named: "k1", account: account).map(\.account) == [account])
        }
        for text in others {
            #expect(try TrustedKeySet.read(text, named: "k1", role: .driver).map(\.account) == [nil])
        }
        let own = try TrustedKeySet.read(key.keyFile, named: "k1", role: .driver, provider: ProviderID("other"))
        let named = TrustedAccount(email: "driver@acme", role: .driver, provider: ProviderID("other"))
        #expect(own.map(\.account) == [named])
    }

    @Test func `a key that is for RSASSA-PSS alone checks no RS256 signature`() throws {
        let key = try self.openSSL(["genpkey", "-algorithm", "RSA-PSS", "-pkeyopt", "rsa_keygen_bits:2048"])
        let pem = try self.openSSL(["pkey", "-pubout"], input: key)
        let error = #expect(throws: SigningError.self) { try TrustedKeySet.read(pem, named: "k1") }
        #expect(error?.message.contains("\"k1\" is for RSASSA-PSS signatures alone") == true)
    }

    @Test func `a certificate that cannot be used leaves those beside it`() throws {
        func certificate(_ algorithm: String) throws -> JSONValue {
            let pem = try self.openSSL([
                "req", "-x509", "-newkey", algorithm, "-nodes", "-keyout", "/dev/null", "-subj", "/CN=a", "-days", "1",
            ])
            return .string(String(decoding: pem, as: UTF8.self))
        }
        let weak = try certificate("rsa:1024")
        let mixed = JSONValue.object(["good": try certificate("rsa:2048"), "weak": weak, "none": .integer(1)])
        #expect(try TrustedKeySet.read(Data(mixed.serialized), named: "x509").map(\.id) == ["good"])
        let error = #expect(throws: SigningError.self) {
            try TrustedKeySet.read(Data(JSONValue.object(["weak": weak]).serialized), named: "x509")
        }
        #expect(error?.code == .invalidKey)
    }
}

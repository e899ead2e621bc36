// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetSigning
import FleetTokens
import Foundation
import Testing

@testable import fleetpass

@Suite struct DataFolderTests {
    private let path = FileManager.default.temporaryDirectory
        .appending(path: "fleetpass-folder-\(UUID().uuidString)").path(percentEncoded: false)

    private func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require((attributes[.posixPermissions] as? NSNumber)?.intValue)
    }

    private func failure(_ body: () throws -> Void) -> CommandFailure? {
        #expect(throws: CommandFailure.self, performing: body)
    }

    @Test func `a new folder holds one account for each role, for its owner only`() throws {
        defer { try? FileManager.default.removeItem(atPath: self.path) }
        let folder = try DataFolder.open(self.path, provider: ProviderID(checking: "acme"))
        #expect(Set(folder.accounts.keys) == Set(Role.known))
        #expect(try self.mode(self.path) == 0o700)
        for role in Role.known {
            #expect(folder.accounts[role]?.account == "\(role)@acme.iam.gserviceaccount.com")
            #expect(try self.mode("\(self.path)/service-accounts/\(role).json") == 0o600)
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: "\(self.path)/service-accounts")
        #expect(Set(names) == Set(Role.known.map { "\($0).json" }))
    }

    @Test func `a folder is held by one process, keeps its keys, and its provider`() throws {
        defer { try? FileManager.default.removeItem(atPath: self.path) }
        let provider = try ProviderID(checking: "acme")
        var keyIDs: [Role: String] = [:]
        do {
            let folder = try DataFolder.open(self.path, provider: provider)
            keyIDs = folder.accounts.mapValues(\.keyID)
            let inUse = self.failure { _ = try DataFolder.open(self.path, provider: provider) }
            #expect(inUse?.status == .configuration)
            #expect(inUse?.message.contains("in use") == true)
            withExtendedLifetime(folder) {}
        }
        #expect(try DataFolder.open(self.path, provider: provider).accounts.mapValues(\.keyID) == keyIDs)
        let rival = self.failure { _ = try DataFolder.open(self.path, provider: ProviderID(checking: "rival")) }
        #expect(rival?.message.contains("belongs to") == true)
    }

    @Test func `what a run that was killed left of a key is in nobody's way`() throws {
        defer { try? FileManager.default.removeItem(atPath: self.path) }
        let accounts = "\(self.path)/service-accounts"
        try FileManager.default.createDirectory(atPath: accounts, withIntermediateDirectories: true)
        try Data("{".utf8).write(to: URL(filePath: "\(accounts)/.driver.json.new"))
        let folder = try DataFolder.open(self.path, provider: ProviderID(checking: "acme"))
        let key = try ServiceAccountKey(json: Data(contentsOf: URL(filePath: "\(accounts)/driver.json")))
        #expect(key.keyID == folder.accounts[.driver]?.keyID)
        #expect(!FileManager.default.fileExists(atPath: "\(accounts)/.driver.json.new"))
    }

    @Test func `a link in the place of the lock leads nowhere`() throws {
        defer { try? FileManager.default.removeItem(atPath: self.path) }
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: "\(self.path)/lock", withDestinationPath: "\(self.path)/elsewhere")
        let failure = self.failure { _ = try DataFolder.open(self.path, provider: ProviderID(checking: "acme")) }
        #expect(failure?.message.contains("\(self.path) cannot be written to") == true)
        #expect(!FileManager.default.fileExists(atPath: "\(self.path)/elsewhere"))
    }

    @Test func `a path that can be no folder is told with the cause`() throws {
        defer { try? FileManager.default.removeItem(atPath: self.path) }
        try Data().write(to: URL(filePath: self.path))
        let provider = try ProviderID(checking: "acme")
        for path in [self.path, "\(self.path)/below"] {
            let failure = self.failure { _ = try DataFolder.open(path, provider: provider) }
            #expect(failure?.status == .configuration)
            #expect(failure?.message.contains("\(self.path) is a file, not a folder") == true)
        }
        let empty = self.failure { _ = try DataFolder.open("", provider: provider) }
        #expect(empty?.status == .usage)
    }

    @Test func `a broken key file is named, and left as it is`() throws {
        defer { try? FileManager.default.removeItem(atPath: self.path) }
        try FileManager.default.createDirectory(
            atPath: "\(self.path)/service-accounts", withIntermediateDirectories: true)
        let file = "\(self.path)/service-accounts/driver.json"
        try Data("{".utf8).write(to: URL(filePath: file))
        let failure = self.failure { _ = try DataFolder.open(self.path, provider: ProviderID(checking: "acme")) }
        #expect(failure?.message.contains("driver.json") == true)
        #expect(try Data(contentsOf: URL(filePath: file)) == Data("{".utf8))
    }
}

@Suite struct LocalServiceOptionsTests {
    @Test(arguments: [
        ("127.0.0.1", true), ("127.8.9.1", true), ("::1", true), ("0.0.0.0", false), ("::", false),
        ("192.168.1.2", false), ("localhost.example.com", false), ("127.0.0.1.example.com", false), ("127.1", false),
    ])
    func `only this machine's own addresses are listened on`(host: String, isAllowed: Bool) throws {
        let options = try LocalServiceOptions.parse(["--host", host])
        if isAllowed {
            #expect(throws: Never.self) { try options.checkHost() }
        } else {
            #expect(throws: CommandFailure.self) { try options.checkHost() }
        }
    }

    @Test func `HTTP and gRPC have ports of their own`() {
        for ports in [["--port", "8081"], ["--grpc-port", "8080"], ["--port", "9000", "--grpc-port", "9000"]] {
            let error = #expect(throws: (any Error).self) { try LocalServiceOptions.parse(ports) }
            let message = error.map { LocalServiceOptions.message(for: $0) }
            #expect(message?.contains("--port and --grpc-port are both \(ports[1]);") == true)
            #expect(throws: (any Error).self) { try DemoCommand.parse(ports) }
        }
        for ports in [["--port", "0", "--grpc-port", "0"], ["--port", "8081", "--grpc-port", "8080"]] {
            #expect(throws: Never.self) { try LocalServiceOptions.parse(ports) }
        }
    }

    private static func newPath() -> String {
        FileManager.default.temporaryDirectory.appending(path: "fleetpass-new-\(UUID().uuidString)")
            .path(percentEncoded: false)
    }

    @Test(arguments: [
        ["--host", "0.0.0.0"], ["--store", "foo"], ["--store", "postgresql://u:p/q@h/d"], ["--record", "/none/calls"],
        ["--record", "/"], ["--tiles", "foo"], ["--osrm", "ftp://x"], ["--chaos", "/none/script"],
        ["--trust", "/none/trust"], ["--callers", "/none/callers"], ["--revocations", "http://tokens.example/list"],
        ["--revocations", "https://tokens.example/list", "--revocations-keys", "/none/keys"], ["--store", ""],
        ["--store", " "],
    ])
    func `options that cannot be used leave no data folder`(arguments: [String]) throws {
        let data = Self.newPath()
        defer { try? FileManager.default.removeItem(atPath: data) }
        let options = try LocalServiceOptions.parse(["--data", data] + arguments)
        let error = #expect(throws: (any Error).self) { _ = try LocalService(options, logger: options.logger) }
        let status = error.flatMap { CommandFailure($0) }?.status
        #expect(status == .configuration || status == .usage)
        #expect(!FileManager.default.fileExists(atPath: data))
    }

    @Test(arguments: ["\n", "\r\n", "\u{2028}"])
    func `a data folder is named in one line`(lineBreak: String) throws {
        let data = Self.newPath() + "\(lineBreak)ready"
        let options = try LocalServiceOptions.parse(["--data", data])
        let failure = #expect(throws: CommandFailure.self) { _ = try LocalService(options, logger: options.logger) }
        #expect(failure?.status == .usage)
        #expect(failure?.message.contains(where: \.isNewline) == false)
        #expect(!FileManager.default.fileExists(atPath: data))
    }

    @Test func `a recording may be in the data folder that is made for it`() throws {
        let data = Self.newPath()
        let below = try LocalServiceOptions.parse(["--data", data, "--record", "\(data)/below/calls.jsonl"])
        #expect(throws: CommandFailure.self) { try below.checkPlaces() }
        for record in ["\(data)/calls.jsonl", "\(data)/./calls.jsonl"] {
            let options = try LocalServiceOptions.parse(["--data", "\(data)/", "--record", record])
            #expect(throws: Never.self) { try options.checkPlaces() }
        }
        let beside = try LocalServiceOptions.parse(["--data", "\(data)/data", "--record", "\(data)/calls.jsonl"])
        #expect(throws: Never.self) { try beside.checkPlaces() }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenServer
import FleetTokens
import Foundation
import Testing

@testable import fleetpass

@Suite struct SecretFilesCheckTests {
    /// A folder of a configuration and what it names, for their owner alone, which is gone with the value.
    private final class Files {
        let folder = URL.temporaryDirectory.appending(path: "fleetpass-\(UUID().uuidString)")

        init() throws {
            try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
            for name in ["tokens.yaml", "callers.json", "admins.json", "policy.yaml"] {
                try Data().write(to: self.folder.appending(path: name))
                try self.set(0o600, of: name)
            }
        }

        deinit { try? FileManager.default.removeItem(at: self.folder) }

        func path(_ name: String) -> String { self.folder.appending(path: name).path(percentEncoded: false) }

        func set(_ mode: Int, of name: String) throws {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: self.path(name))
        }

        func finding() throws -> DoctorFinding? {
            let configuration = try TokenServerConfiguration(
                yaml: """
                    provider: acme
                    data: data
                    signers: {driver: {account: driver@acme.iam.gserviceaccount.com}}
                    callers: {file: callers.json}
                    admin: {callers_file: admins.json}
                    policy: {file: policy.yaml}
                    """,
                folder: self.folder, environment: [:])
            return SecretFilesCheck(configuration, file: self.path("tokens.yaml")).finding
        }
    }

    @Test(arguments: [
        ("callers.json", 0o644, "use", "600"), ("admins.json", 0o644, "use", "600"),
        ("admins.json", 0o620, "use", "600"), ("policy.yaml", 0o664, "change", "go-w"),
        ("tokens.yaml", 0o646, "change", "go-w"),
    ])
    func `a file by which others could let themselves in is named`(
        name: String, mode: Int, deed: String, command: String
    ) throws {
        let files = try Files()
        #expect(try files.finding()?.outcome == .ok)
        try files.set(mode, of: name)
        let finding = try #require(try files.finding())
        #expect(finding.outcome == .fault)
        #expect(finding.detail == "other users may \(deed) \(files.path(name)) (0\(String(mode, radix: 8))).")
        #expect(finding.next == "Run chmod \(command) \(files.path(name)), as their owner.")
    }

    @Test func `what up has in its data folder is looked at as well`() throws {
        let files = try Files()
        let folder = try DataFolder.open(files.path("data"), provider: ProviderID(checking: "acme"))
        func finding() -> DoctorFinding? { SecretFilesCheck(folder, callers: files.path("callers.json")).finding }
        #expect(finding()?.outcome == .ok)
        for name in ["data/service-accounts/driver.json", "callers.json"] {
            try files.set(0o644, of: name)
            #expect(finding()?.next == "Run chmod 600 \(files.path(name)), as their owner.")
            try files.set(0o600, of: name)
        }
    }

    @Test(arguments: ["policy.yaml", "tokens.yaml"])
    func `what is no secret may be read`(name: String) throws {
        let files = try Files()
        try files.set(0o644, of: name)
        #expect(try files.finding()?.outcome == .ok)
    }
}

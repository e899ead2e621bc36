// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetSigning
import FleetTokenServer
import FleetTokens
import Foundation

/// `fleetpass keys rotate`: a new key for a role.
struct KeysRotateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Take a new key for a role; it signs once verifiers know it.",
        discussion: """
            Example:  fleetpass keys rotate --data keys --role driver --with new-key.json

            Google accepts a key that it made itself, such as one by gcloud iam service-accounts keys create: hand it over \
            by --with, and remove that file. Without --with a key is made here, for engines that read this server's key \
            set, such as that of `fleetpass up`; Google would refuse its tokens.
            """
    )

    @OptionGroup var keys: KeyFolderOptions
    @OptionGroup var records: KeyRecordOptions

    @Option(help: "The role, or several by repeating it (default: every role).", transform: checkedRole)
    var role: [Role] = []

    @Option(help: ArgumentHelp("A key file that Google made for the role's account.", valueName: "file"))
    var with: String?

    @Option(help: "How to print.")
    var output: OutputFormat = .text

    func validate() throws {
        guard self.with == nil || self.role.count == 1 else {
            throw ValidationError("--with is the key of one role; name it with --role.")
        }
    }

    func run() async throws {
        let key = try self.with.map(Self.key)
        let administration = try await self.records.administration(data: self.keys.data)
        let now = Date()
        let roles =
            self.role.isEmpty
            ? try self.keys.with { try $0.read() }.keys.sorted { $0.rawValue < $1.rawValue } : self.role
        var reports: [KeyStatus] = []
        for role in roles {
            let ring = try self.keys.with { try $0.rotate(role, to: key, at: now) }
            reports += ring.statuses(of: role, at: now)
            guard let newest = ring.entries.last else { continue }
            try await self.records.record {
                try await administration?.recordRotation(to: newest.key.keyID, of: role, by: .localUser, at: now)
            }
        }
        try reports.give(as: self.output)
    }

    private static func key(in file: String) throws -> ServiceAccountKey {
        guard let bytes = try? Data(contentsOf: URL(filePath: file)) else {
            throw CommandFailure(
                status: .configuration,
                message:
                    "the key file \(file) cannot be read; name the file that Google gave you, and let this user read it."
            )
        }
        do throws(SigningError) {
            return try ServiceAccountKey(json: bytes)
        } catch {
            throw CommandFailure(status: .configuration, message: "\(file): \(error.message)")
        }
    }
}

/// `fleetpass keys list`: every key and what it is good for now.
struct KeysListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Say what each key is good for now.",
        discussion: "Example:  fleetpass keys list --data data"
    )

    @OptionGroup var keys: KeyFolderOptions

    @Option(help: "How to print.")
    var output: OutputFormat = .text

    func run() async throws {
        let rings = try self.keys.with { try $0.read() }
        let now = Date()
        let statuses = rings.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap {
            $0.value.statuses(of: $0.key, at: now)
        }
        try statuses.give(as: self.output)
    }
}

/// `fleetpass keys retire`: removes a key that has done its work, or one that was stolen.
struct KeysRetireCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retire",
        abstract: "Remove a key of which no token can be alive.",
        discussion: """
            Example:  fleetpass keys retire --data data --role driver --key 5f0c…

            A stolen key goes at once with --force: its tokens are refused from then on, and the next key signs at once, \
            although verifiers elsewhere may take 5 minutes to learn it.
            """
    )

    @OptionGroup var keys: KeyFolderOptions
    @OptionGroup var records: KeyRecordOptions

    @Option(help: "The role.", transform: checkedRole)
    var role: Role

    @Option(help: ArgumentHelp("The key's id.", valueName: "id"))
    var key: String

    @Flag(help: "Remove it although tokens of it may be alive.")
    var force = false

    @Option(help: "How to print.")
    var output: OutputFormat = .text

    func run() async throws {
        let administration = try await self.records.administration(data: self.keys.data)
        let now = Date()
        let ring = try self.keys.with { try $0.retire(self.key, of: self.role, at: now, isForced: self.force) }
        try await self.records.record {
            try await administration?.recordRetirement(
                of: self.key, of: self.role, isForced: self.force, by: .localUser, at: now)
        }
        try ring.statuses(of: self.role, at: now).give(as: self.output)
    }
}

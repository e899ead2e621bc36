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

    @Option(
        help: "The role, or several by repeating it (default: every role).", completion: .roles, transform: checkedRole)
    var role: [Role] = []

    @Option(
        help: ArgumentHelp("A key file that Google made for the role's account.", valueName: "file"),
        completion: .file())
    var with: String?

    @Option(help: "How to print.")
    var output: OutputFormat = .text

    func validate() throws {
        try OptionRules.need(
            self.with == nil || self.role.count == 1, "--with is the key of one role; name it with --role.")
    }

    func run() async throws {
        let key = try self.with.map(Self.key)
        let rings = try self.keys.read(toChange: true)
        let now = Date()
        let roles = (self.role.isEmpty ? Set(rings.keys) : Set(self.role)).sorted { $0.rawValue < $1.rawValue }
        for role in roles { try Self.check(rings[role], of: role, at: now) }
        let administration = try await self.records.administration(data: self.keys.data)
        var reports: [KeyStatus] = []
        do {
            for role in roles {
                let ring = try self.keys.with { try $0.rotate(role, to: key, at: now) }
                reports += ring.statuses(of: role, at: now)
                guard let newest = ring.entries.last else { continue }
                try await self.records.record {
                    try await administration?.recordRotation(to: newest.key.keyID, of: role, by: .localUser, at: now)
                }
            }
        } catch {
            // What was changed is told all the same.
            if !reports.isEmpty { try reports.give(as: self.output) }
            throw error
        }
        try reports.give(as: self.output)
    }

    /// Refuses a role that cannot take a new key now, before the keys of any are changed.
    private static func check(_ ring: KeyRing?, of role: Role, at now: Date) throws {
        guard let ring, let newest = ring.entries.indices.last else {
            throw CommandFailure(
                status: .configuration, message: "nothing was changed: there is no key of the role \(role).")
        }
        guard ring.schedule.state(of: newest, at: now) != .published else {
            throw CommandFailure(
                status: .configuration,
                message:
                    "nothing was changed: the newest key of the role \(role), \(ring.entries[newest].key.keyID), does not "
                    + "sign before \(ring.schedule.start(of: newest).formatted(.iso8601)); wait until then, or name other "
                    + "roles by --role.")
        }
    }

    private static func key(in file: String) throws -> ServiceAccountKey {
        let bytes = try InputFile(path: file).bytes(
            advice: "name the file that Google gave you, and let this user read it.")
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
        let rings = try self.keys.read()
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
            although verifiers elsewhere may take 5 minutes to learn it. Where there is no next key, rotate first.
            """
    )

    @OptionGroup var keys: KeyFolderOptions
    @OptionGroup var records: KeyRecordOptions

    @Option(help: "The role.", completion: .roles, transform: checkedRole)
    var role: Role

    @Option(help: ArgumentHelp("The key's id.", valueName: "id"))
    var key: String

    @Flag(help: "Remove it although tokens of it may be alive.")
    var force = false

    @Option(help: "How to print.")
    var output: OutputFormat = .text

    func run() async throws {
        let rings = try self.keys.read(toChange: true)
        let now = Date()
        if !self.force, let ring = rings[self.role] {
            do {
                try self.checkDisuse(in: ring, at: now)
            } catch {
                try ring.statuses(of: self.role, at: now).give(as: self.output)
                throw error
            }
        }
        let administration = try await self.records.administration(data: self.keys.data)
        let ring = try self.keys.with { try $0.retire(self.key, of: self.role, at: now, isForced: self.force) }
        do {
            try await self.records.record {
                try await administration?.recordRetirement(
                    of: self.key, of: self.role, isForced: self.force, by: .localUser, at: now)
            }
        } catch {
            // What was changed is told all the same.
            try ring.statuses(of: self.role, at: now).give(as: self.output)
            throw error
        }
        try ring.statuses(of: self.role, at: now).give(as: self.output)
    }

    /// Refuses to remove a key that is in use, and says what there is to do.
    private func checkDisuse(in ring: KeyRing, at now: Date) throws {
        let schedule = ring.schedule
        guard let index = ring.entries.firstIndex(where: { $0.key.keyID == self.key }) else { return }
        let state = schedule.state(of: index, at: now)
        let use: String
        switch (state, schedule.end(of: index)) {
        case (.retired, _): return
        case (.published, _):
            use = "signs from \(schedule.start(of: index).formatted(.iso8601)) on"
        case (_, let end?):
            let minutes = Int((end.timeIntervalSince(now) / 60).rounded(.up))
            use =
                "is \(state), and tokens of it may be alive; wait \(minutes) minutes, until \(end.formatted(.iso8601))"
        case (_, nil):
            let times = KeySchedule.Times.standard
            let minutes = Int((times.lead + times.retention) / .seconds(60))
            use = "is the newest of the role \(self.role); rotate first, and wait \(minutes) minutes"
        }
        let isReplaceable = schedule.successor(of: index, at: now) != nil
        let force = isReplaceable ? "; --force removes it now, as when it was stolen" : ""
        throw CommandFailure(status: .failed, message: "the key \(self.key) \(use)\(force).")
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetOperation
import FleetTokenServer

/// `fleetpass audit archive`: old records leave the store for a file of their own.
struct AuditArchiveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "archive",
        abstract: "Move old records to a file of their own, while the server runs.",
        discussion: """
            Example:  fleetpass audit archive --data data --keep 90d --to audit-2026-10.sqlite

            The file is a store that search, verify and export read by --store. Records leave the server's store when the \
            file is whole and on the disk, and a record tells that they did. Nothing is written where no record is that \
            old. A command that was stopped is run again, with another file if the first is there: it removes what the \
            first left, half a file in the same folder and records that an archive has.
            """
    )

    @OptionGroup var store: TokenStoreOptions

    @Option(
        help: ArgumentHelp("How long records stay in the store: 2h or more, such as 90d.", valueName: "time"),
        transform: { text in
            guard let age = ConfigurationOption.age(text), age >= Administration.leastAuditAge else {
                throw ValidationError(
                    "\(text) is no time to keep records for; write hours or days up to 3650d, such as 2h or 90d.")
            }
            return age
        })
    var keep: Duration

    @Option(help: ArgumentHelp("The file to make, for this user alone.", valueName: "file"), completion: .file())
    var to: String

    @Option(help: "How to print.")
    var output: OutputFormat = .text

    private struct Report: Encodable {
        let moved: Int64
        let start: String?
        let head: String?
    }

    func validate() throws {
        try OptionRules.check(path: self.to, of: "--to", "name the file to make")
    }

    func run() async throws {
        let (store, now) = try await self.store.openToChange()
        do {
            let archived = try await Administration(store: store).archiveAudit(
                olderThan: self.keep, to: self.to, by: .localUser, at: now)
            let span = archived?.span
            switch self.output {
            case .text:
                Console.give(span.map { "moved records=\($0.count) head=\($0.head)" } ?? "moved records=0")
            case .json:
                try Console.give(
                    json: Report(
                        moved: span?.count ?? 0, start: span.map { "\($0.start)" }, head: span.map { "\($0.head)" }))
            }
            if let failure = archived?.removalFailure {
                Console.say(
                    "fleetpass: warning: \(self.to) is the archive, and the store's tables still have some of its records "
                        + "(\(failure)); the next audit archive removes them.")
            }
        } catch let error as TokenServerError {
            throw CommandFailure(store: error)
        } catch let fault as AuditFault {
            if self.output == .json { try Console.give(json: Report(moved: 0, start: nil, head: nil)) }
            throw CommandFailure(
                status: .failed, message: "nothing was moved, as the audit is not intact. \(fault.message)")
        }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetTokenServer

/// `fleetpass audit verify`: whether every record is there, in its place, as it was written.
struct AuditVerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check that no record was changed, removed or moved.",
        discussion: """
            Example:  fleetpass audit verify --data data --anchor 1042:5f0c…

            Prints the number of records and the head, SEQUENCE:HASH. Note the head on another machine from time to \
            time: who can write the store can also rewrite the whole chain, and only a head that was noted elsewhere \
            tells then.

            An archive is verified by --store FILE. Where older records were moved to archives, start is printed too; it \
            is the head of the last of them, as the start of each archive is the head of the one before. An anchor that \
            is in an archive is one for that archive.
            """
    )

    @OptionGroup var store: TokenStoreOptions

    @Option(
        help: ArgumentHelp("A head that was noted before; the chain must run through it.", valueName: "sequence:hash"),
        transform: { text in
            guard let head = AuditHead(text) else {
                throw ValidationError("\(text) is no head; pass what verify printed, SEQUENCE:HASH.")
            }
            return head
        })
    var anchor: AuditHead?

    @Option(help: "How to print.")
    var output: OutputFormat = .text

    private struct Report: Encodable {
        let intact: Bool
        let records: Int64
        let start: String
        let head: String
        let archive: Bool
    }

    func run() async throws {
        do {
            let store = try await self.store.open(toRead: true)
            let span = try await AuditReader(store: store).verify(anchor: self.anchor)
            switch self.output {
            case .text:
                let start = span.start.sequence > 0 ? " start=\(span.start)" : ""
                Console.give(
                    "intact records=\(span.count)\(start) head=\(span.head)\(span.isArchive ? " archive" : "")")
            case .json:
                try Console.give(
                    json: Report(
                        intact: true, records: span.count, start: "\(span.start)", head: "\(span.head)",
                        archive: span.isArchive))
            }
        } catch let error as TokenServerError where error.code == .recordsArchived {
            throw CommandFailure(status: .usage, message: error.message)
        } catch let fault as AuditFault {
            throw CommandFailure(status: .failed, message: "the audit is not intact. \(fault.message)")
        }
    }
}

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
            is in an archive is one for that archive. Verify archives in their order, each with the head of the one \
            before as an anchor: nothing else tells that the first records of an archive are there.
            """
    )

    @OptionGroup var store: TokenStoreOptions

    @Option(
        name: .customLong("anchor"),
        help: ArgumentHelp(
            "A head that was noted before; the chain must run through it. Repeat it for each.",
            valueName: "sequence:hash"),
        transform: checkedHead)
    var anchors: [AuditHead] = []

    @Option(help: "How to print; json also tells what does not hold.")
    var output: OutputFormat = .text

    private struct Report: Encodable {
        let intact: Bool
        let records: Int64
        let start: String
        let head: String
        let archive: Bool
    }

    private struct FaultReport: Encodable {
        let intact = false
        let problem: String
    }

    func run() async throws {
        do {
            let reader = AuditReader(store: try await self.store.open(to: .readAudit))
            if self.store.isOfServer, try await reader.span().isArchive {
                throw try self.failure(
                    "\(self.store.path) says that it is an archive, which the store of a server never is: first records "
                        + "may have been cut off. An archive is verified by --store.")
            }
            let span = try await reader.verify(anchors: self.anchors)
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
            throw try self.failure(fault.message)
        }
    }

    /// Tells programs what does not hold; people are told by the failure.
    private func failure(_ problem: String) throws -> CommandFailure {
        if self.output == .json { try Console.give(json: FaultReport(problem: problem)) }
        return CommandFailure(status: .failed, message: "the audit is not intact. \(problem)")
    }
}

/// Reads the head of a chain from the command line.
private func checkedHead(_ text: String) throws -> AuditHead {
    guard let head = AuditHead(text) else {
        throw ValidationError("\(text) is no head; pass what verify printed, SEQUENCE:HASH.")
    }
    return head
}

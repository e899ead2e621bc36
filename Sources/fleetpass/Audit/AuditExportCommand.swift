// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetTokenServer

/// `fleetpass audit export`: every record with its hash, one line of JSON each.
struct AuditExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write every record as a line of JSON.",
        discussion: """
            Example:  fleetpass audit export --data data > audit.jsonl

            Each line holds record, sequence and hash. The hash is SHA-256 over fleetpass-audit-1, the hash of the \
            line before (64 zeros for the first), the sequence and the record, with a line feed between; the record \
            counts as it stands on the line.
            """
    )

    @OptionGroup var store: TokenStoreOptions

    func run() async throws {
        try await AuditReader(store: try await self.store.open(toRead: true)).search(AuditQuery()) { match in
            Console.give(match.entry.jsonLine)
        }
    }
}

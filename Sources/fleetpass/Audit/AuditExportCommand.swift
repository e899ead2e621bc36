// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetTokenServer

/// `fleetpass audit export`: every record that is in the store with its hash, one line of JSON each.
struct AuditExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write every record that is in the store as a line of JSON.",
        discussion: """
            Example:  fleetpass audit export --data data > audit.jsonl

            Each line holds record, sequence and hash. The hash is SHA-256 over fleetpass-audit-1, the hash of the \
            line before (64 zeros for record 1), the sequence and the record, with a line feed between; the record \
            counts as it stands on the line.

            What was moved to an archive is exported by --store FILE; the last line there is the one before the first \
            here.
            """
    )

    @OptionGroup var store: TokenStoreOptions

    func run() async throws {
        let reader = AuditReader(store: try await self.store.open(to: .readAudit))
        try await reader.searchTellingOfArchives(AuditQuery()) { Console.give($0.entry.jsonLine) }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `fleetpass audit`: reads and checks what the token server decided.
struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Read and check the record of who got which token.",
        subcommands: [
            AuditVerifyCommand.self, AuditSearchCommand.self, AuditExportCommand.self, AuditArchiveCommand.self,
        ]
    )
}

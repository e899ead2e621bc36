// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetTokenServer
import FleetTokens

/// `fleetpass callers`: who a token server knows by secrets.
struct CallersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "callers",
        abstract: "Make entries for the files of callers and administrators.",
        discussion: "A running server reads a file that changed within 5 seconds.",
        subcommands: [CallersNewCommand.self]
    )
}

/// `fleetpass callers new`: a secret, and the entry that knows it.
struct CallersNewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new",
        abstract: "Make a secret, and the entry that lets in whoever has it.",
        discussion: """
            Example:  fleetpass callers new dispatch --role driver

            Prints the secret, which is nowhere else, and the entry for the list `callers` of the file that callers.file \
            names, or admin.callers_file with --administrator. The entry holds a salted digest of the secret.
            """
    )

    @Argument(help: "By what name assignments, withdrawals and the audit know who has the secret.")
    var name: String

    @Option(
        help: "A role whose tokens the caller may have, or several by repeating it.",
        completion: .list(StaticBearerAuthenticator.callerRoles.map(\.rawValue)))
    var role: [String] = []

    @Flag(help: "Make an entry for the file of administrators, who have no roles.")
    var administrator = false

    @Option(help: "How to print.")
    var output: OutputFormat = .text

    private struct Report: Encodable {
        let secret: String
        let entry: StaticBearerAuthenticator.Entry
    }

    func validate() throws {
        try OptionRules.need(
            self.administrator || !self.role.isEmpty,
            "Name the caller's roles with --role, or pass --administrator for an administrator.")
        guard !self.administrator || self.role.isEmpty else {
            throw ValidationError("An administrator has no roles; leave --role out.")
        }
    }

    func run() async throws {
        let (secret, entry) = try self.made()
        switch self.output {
        case .text:
            Console.give("secret: \(secret)")
            Console.give("entry: \(try Console.jsonLine(of: entry).shown())")
        case .json: try Console.give(json: Report(secret: secret, entry: entry))
        }
        Console.say(
            "fleetpass: give the secret to \(self.name.shown()) alone, to be sent as Authorization: Bearer SECRET; it "
                + "cannot be told again.")
        Console.say(
            "fleetpass: put the entry into the list callers of the file that "
                + "\(self.administrator ? "admin.callers_file" : "callers.file or --callers") names.")
    }

    /// The secret and its entry.
    ///
    /// - Throws: ``CommandFailure`` with `usage` for a name or a role that the file cannot have.
    func made() throws(CommandFailure) -> (secret: String, entry: StaticBearerAuthenticator.Entry) {
        do throws(TokenServerError) {
            return try StaticBearerAuthenticator.makeEntry(
                named: self.name, roles: self.administrator ? nil : self.role)
        } catch {
            throw CommandFailure(status: .usage, message: error.message)
        }
    }
}

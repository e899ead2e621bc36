// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetSigning
import FleetTokenServer
import FleetTokens
import Foundation

/// `fleetpass keys`: the signing keys of a data folder.
struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Rotate, list and retire signing keys.",
        discussion: """
            A new key is published at once and signs 10 minutes later, when every verifier has had the time to learn it. \
            The old one stays published for 70 minutes after its last signature, until no token of it can be alive. \
            Running servers notice within seconds.
            """,
        subcommands: [KeysRotateCommand.self, KeysListCommand.self, KeysRetireCommand.self]
    )
}

/// Where the keys are.
struct KeyFolderOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The data folder of `up`, or a folder of key files.", valueName: "dir"),
        completion: .directory)
    var data: String

    func validate() throws {
        try OptionRules.check(path: self.data, of: "--data", "name the data folder of `up`, or a folder of key files")
    }

    /// The folder of the key files.
    private var path: String {
        let accounts = "\(self.data)/service-accounts"
        return FileManager.default.fileExists(atPath: accounts) ? accounts : self.data
    }

    /// The keys of each role.
    ///
    /// - Parameter isChanged: Whether the folder is to be changed, which mends one that holds a retired key too.
    /// - Returns: The keys.
    /// - Throws: ``CommandFailure`` with `configuration` for a folder that cannot be read, or holds no key files.
    func read(toChange isChanged: Bool = false) throws -> [Role: KeyRing] {
        let rings = try self.with { try isChanged ? $0.readToChange() : $0.read() }
        guard !rings.isEmpty else {
            throw CommandFailure(status: .configuration, message: "\(self.path) holds no key files.")
        }
        return rings
    }

    /// Does something with the folder, and words what goes wrong.
    func with<Result>(_ body: (KeyFolder) throws -> Result) throws -> Result {
        do {
            return try body(KeyFolder(path: self.path))
        } catch let error as TokenServerError {
            throw CommandFailure(status: .configuration, message: error.message)
        }
    }
}

extension CompletionKind {
    /// The names of the roles.
    static var roles: CompletionKind { .list(Role.known.map(\.rawValue)) }
}

/// Reads a role from the command line.
func checkedRole(_ text: String) throws -> Role {
    let role = Role(rawValue: text)
    guard Role.known.contains(role) else {
        throw ValidationError("There is no role \(text); use \(Role.known.map(\.rawValue).joined(separator: ", ")).")
    }
    return role
}

extension [KeyStatus] {
    /// Prints what each key is good for.
    func give(as format: OutputFormat) throws {
        guard format == .text else {
            let encoder = JSONEncoder()
            encoder.dateEncodingStrategy = .iso8601
            encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
            return Console.give(String(decoding: try encoder.encode(self), as: UTF8.self))
        }
        for report in self {
            var words = [report.role.lineWord, report.keyID.lineWord, report.state]
            if let time = report.signsFrom { words.append("signs-from=\(time.formatted(.iso8601))") }
            if let time = report.retiredFrom { words.append("retired-from=\(time.formatted(.iso8601))") }
            Console.give(words.joined(separator: " "))
        }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning
import FleetTokenServer
import FleetTokens
import Foundation

/// The key file of a service account that a command signs with; `-` is standard input.
struct SigningKeyFile {
    let path: String

    /// What messages call it.
    var name: String { self.path == "-" ? "standard input" : self.path }

    /// The role of the account, by the name of the file, or of the one that it is a link to; `nil` where none tells it.
    var role: Role? {
        self.path == "-" ? nil : self.files.lazy.compactMap { KeyFolder.role(ofFile: $0.lastPathComponent) }.first
    }

    private var file: URL { URL(filePath: self.path).absoluteURL }

    /// The file by its name, and by that of the file which it is a link to in the end.
    private var files: [URL] { [self.file, self.file.resolvingSymlinksInPath()] }

    /// Reads the key, and says on stderr where others can use it too.
    ///
    /// - Parameter now: The time at which the key is to sign.
    /// - Returns: The key.
    /// - Throws: ``CommandFailure`` with `configuration` for a file that cannot be read, holds no key, or stands in a
    ///   key folder where a later key signs by now, itself or as what it is a link to, or whose list of the retired keys
    ///   cannot be read.
    func read(at now: Date = Date()) throws(CommandFailure) -> ServiceAccountKey {
        let bytes: Data
        if self.path == "-" {
            bytes = try Console.input(atMost: InputFile.maximumBytes)
        } else {
            bytes = try InputFile(path: self.path).bytes(
                advice: "fleetpass up makes a key file for each role in its data folder (service-accounts/ROLE.json).")
            try self.checkTurn(at: now)
        }
        let key: ServiceAccountKey
        do throws(SigningError) {
            key = try ServiceAccountKey(json: bytes)
        } catch {
            throw CommandFailure(status: .configuration, message: "\(self.name): \(error.message)")
        }
        if self.path != "-" { self.warnWhereOpen() }
        return key
    }

    /// Refuses a key whose turn has passed, as verifiers drop it: the next one of its folder signs.
    private func checkTurn(at now: Date) throws(CommandFailure) {
        var turns: [Turn] = []
        for file in self.files {
            if let turn = try Turn(of: file, at: now) { turns.append(turn) }
        }
        if let passed = turns.first(where: { $0.state == .retiring || $0.state == .retired }) {
            throw CommandFailure(
                status: .configuration,
                message: "the key of \(self.path) signs no more, as the keys of the role \(passed.role) were rotated; "
                    + "\(passed.next.map { "use \($0)" } ?? "see fleetpass keys list").")
        }
        if turns.contains(where: { $0.state == .published }) {
            Console.say("fleetpass: warning: the key of \(self.path) does not sign yet, so verifiers may not know it.")
        }
    }

    private func warnWhereOpen() {
        guard FileMode.isOpen(self.path), FileMode.isRegular(self.path) else { return }
        let mode = FileMode.of(self.path)
        Console.say(
            "fleetpass: warning: other users may use the private key in \(self.path) (mode 0\(String(mode, radix: 8))); "
                + "run chmod 600 \(self.path).")
    }
}

/// What a key in a key folder is good for at a time.
private struct Turn {
    let role: Role
    let state: KeySchedule.State
    /// The file of the role's key that signs, where one does.
    let next: String?

    /// Looks at a file's name and those beside it; `nil` where they are not those of a key folder, or cannot be seen.
    init?(of file: URL, at time: Date) throws(CommandFailure) {
        let folder = file.deletingLastPathComponent()
        let path = folder.path(percentEncoded: false)
        guard let role = KeyFolder.role(ofFile: file.lastPathComponent), PathProblem.reading(folder: path) == nil
        else { return nil }
        let states: [String: KeySchedule.State]
        do throws(TokenServerError) {
            states = try KeyFolder(path: path).states(at: time)
        } catch {
            throw CommandFailure(status: .configuration, message: error.message)
        }
        guard let state = states[file.lastPathComponent] else { return nil }
        self.role = role
        self.state = state
        self.next = states.first { KeyFolder.role(ofFile: $0.key) == role && $0.value == .signing }
            .map { folder.appending(path: $0.key).path(percentEncoded: false) }
    }
}

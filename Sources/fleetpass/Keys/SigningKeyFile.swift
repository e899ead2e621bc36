// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokenServer
import FleetTokens
import Foundation

/// The key file of a service account that a command signs with; `-` is standard input.
struct SigningKeyFile {
    let path: String

    /// What messages call it.
    var name: String { self.path == "-" ? "standard input" : self.path }

    /// The role of the account, by the file's name; `nil` where the name tells none.
    var role: Role? { KeyFolder.role(ofFile: self.file.lastPathComponent) }

    private var file: URL { URL(filePath: self.path).absoluteURL }

    /// Reads the key, and says on stderr where others can use it too.
    ///
    /// - Parameter now: The time at which the key is to sign.
    /// - Returns: The key.
    /// - Throws: ``CommandFailure`` with `configuration` for a file that cannot be read, holds no key, or stands in a
    ///   key folder where a later key signs by now.
    func read(at now: Date = Date()) throws(CommandFailure) -> ServiceAccountKey {
        let bytes: Data
        if self.path == "-" {
            bytes = try Console.input(atMost: InputFile.maximumBytes)
        } else {
            bytes = try InputFile(path: self.path).bytes(
                advice: "fleetpass up makes a key file for each role in its data folder (service-accounts/ROLE.json).")
            try self.checkTurn(at: now)
            self.warnWhereOpen()
        }
        do throws(SigningError) {
            return try ServiceAccountKey(json: bytes)
        } catch {
            throw CommandFailure(status: .configuration, message: "\(self.name): \(error.message)")
        }
    }

    /// Refuses a key whose turn has passed, as verifiers drop it: the next one of its folder signs.
    private func checkTurn(at now: Date) throws(CommandFailure) {
        let folder = self.file.deletingLastPathComponent()
        guard let role, let states = try? KeyFolder(path: folder.path(percentEncoded: false)).states(at: now) else {
            return
        }
        switch states[self.file.lastPathComponent] {
        case .signing, nil: return
        case .published:
            Console.say("fleetpass: warning: the key of \(self.path) does not sign yet, so verifiers may not know it.")
        case .retiring, .retired:
            let next = states.first { KeyFolder.role(ofFile: $0.key) == role && $0.value == .signing }
            let use = next.map { "use \(folder.appending(path: $0.key).path(percentEncoded: false))" }
            throw CommandFailure(
                status: .configuration,
                message: "the key of \(self.path) signs no more, as the keys of the role \(role) were rotated; "
                    + "\(use ?? "see fleetpass keys list").")
        }
    }

    private func warnWhereOpen() {
        let mode = SecretFilesCheck.mode(self.path)
        guard mode & 0o077 != 0, self.isRegular else { return }
        Console.say(
            "fleetpass: warning: other users may use the private key in \(self.path) (mode 0\(String(mode, radix: 8))); "
                + "run chmod 600 \(self.path).")
    }

    private var isRegular: Bool {
        let file = self.file.resolvingSymlinksInPath().path(percentEncoded: false)
        return (try? FileManager.default.attributesOfItem(atPath: file))?[.type] as? FileAttributeType == .typeRegular
    }
}

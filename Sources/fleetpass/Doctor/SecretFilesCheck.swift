// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetTokenServer
import Foundation

/// Whether the files of keys and secrets, and the key folder, are open to nobody but their owner: 0600 and 0700.
struct SecretFilesCheck {
    private let folders: [String]
    private let files: [String]

    /// Collects what a configuration names, and the key that a server made in its data folder; what is missing is other
    /// checks' to tell.
    init(_ configuration: TokenServerConfiguration) {
        let manager = FileManager.default
        let keyFolder = configuration.keys.map { URL(filePath: $0, directoryHint: .isDirectory) }
        let names = keyFolder.flatMap { try? manager.contentsOfDirectory(atPath: $0.path(percentEncoded: false)) } ?? []
        let keys = names.sorted().filter { KeyFolder.role(ofFile: $0) != nil }.compactMap { name in
            keyFolder?.appending(path: name).path(percentEncoded: false)
        }
        let named =
            configuration.signers.map(\.keyFile) + configuration.sessions.map(\.secretFile)
            + [
                configuration.google.credentialFile, configuration.tls?.key, configuration.policySecretFile,
                configuration.revocationKeyPath,
            ]
        self.folders = [configuration.keys].compactMap(\.self)
        self.files = keys + named.compactMap(\.self).filter { manager.fileExists(atPath: $0) }
    }

    /// What was found; `nil` where there is no such file.
    var finding: DoctorFinding? {
        guard !self.files.isEmpty else { return nil }
        let (folders, files) = (self.folders.filter(Self.isOpen), self.files.filter(Self.isOpen))
        guard !folders.isEmpty || !files.isEmpty else {
            return .ok("secret files", "\(self.files.count), for their owner alone")
        }
        let commands =
            (folders.isEmpty ? [] : ["chmod 700 \(folders.joined(separator: " "))"])
            + (files.isEmpty ? [] : ["chmod 600 \(files.joined(separator: " "))"])
        return .fault(
            "secret files",
            "other users may use \((folders + files).map { "\($0) (\(Self.octal(FileMode.of($0))))" }.joined(separator: ", ")).",
            next: "Run \(commands.joined(separator: " && ")), as their owner.")
    }

    private static func isOpen(_ path: String) -> Bool { FileMode.of(path) & 0o077 != 0 }

    private static func octal(_ mode: Int) -> String {
        let digits = String(mode, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}

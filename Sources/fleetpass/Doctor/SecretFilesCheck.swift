// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetTokenServer
import Foundation
import Logging

/// Whether the files of keys, secrets and callers, and the key folder, are open to nobody but their owner, 0600 and 0700,
/// and whether nobody else may write the configuration and the policy.
struct SecretFilesCheck {
    private let folders: [String]
    private let files: [String]
    /// Those that are no secret, and that decide who gets which token.
    private let rules: [String]

    /// Collects what a configuration names, and the key that a server made in its data folder; what is missing, or is no
    /// file, is other checks' to tell.
    ///
    /// - Parameters:
    ///   - configuration: What names the files.
    ///   - file: The configuration's own file.
    init(_ configuration: TokenServerConfiguration, file: String) {
        let named =
            configuration.signers.map(\.keyFile) + configuration.sessions.map(\.secretFile)
            + [
                configuration.google.credentialFile, configuration.tls?.key, configuration.policySecretFile,
                configuration.revocationKeyPath, configuration.callersFile, configuration.admin?.callersFile,
            ]
        self.init(
            keys: configuration.keys, named: named, rules: [file] + [configuration.policyFile].compactMap(\.self))
    }

    /// Collects what `up` has in its data folder, and the callers' file that it is given.
    init(_ folder: DataFolder, callers: String?) {
        self.init(keys: folder.keyFolder, named: ["\(folder.path)/\(RevocationKeyFile.name)", callers], rules: [])
    }

    private init(keys folder: String?, named: [String?], rules: [String]) {
        let manager = FileManager.default
        let keyFolder = folder.map { URL(filePath: $0, directoryHint: .isDirectory) }
        let names = keyFolder.flatMap { try? manager.contentsOfDirectory(atPath: $0.path(percentEncoded: false)) } ?? []
        let keys = names.sorted().filter { KeyFolder.role(ofFile: $0) != nil }.compactMap { name in
            keyFolder?.appending(path: name).path(percentEncoded: false)
        }
        self.folders = keys.isEmpty ? [] : [folder].compactMap(\.self)
        self.files = (keys + named.compactMap(\.self)).filter(FileMode.isRegular)
        self.rules = rules
    }

    /// Warns of what is open to others, for a server that starts all the same.
    func warn(_ logger: Logger) {
        guard let finding, finding.outcome == .fault else { return }
        logger.warning(
            "keys, secrets or rules are open to other users",
            metadata: ["found": "\(finding.detail)", "next": "\(finding.next ?? "")"])
    }

    /// What was found; `nil` where there is no secret file, and nothing to tell of the others.
    var finding: DoctorFinding? {
        let open = [
            (mode: "700", deed: "use", paths: self.folders.filter(Self.isOpen)),
            (mode: "600", deed: "use", paths: self.files.filter(Self.isOpen)),
            (mode: "go-w", deed: "change", paths: self.rules.filter(FileMode.isWritableByOthers)),
        ].filter { !$0.paths.isEmpty }
        guard !open.isEmpty else {
            return self.files.isEmpty ? nil : .ok("secret files", "\(self.files.count), for their owner alone")
        }
        let found = open.map { part in
            let paths = part.paths.map { "\($0) (\(Self.octal(FileMode.of($0))))" }
            return "\(part.deed) \(paths.joined(separator: ", "))"
        }
        let commands = open.map { "chmod \($0.mode) \($0.paths.joined(separator: " "))" }
        return .fault(
            "secret files", "other users may \(found.joined(separator: ", ")).",
            next: "Run \(commands.joined(separator: " && ")), as their owner.")
    }

    private static func isOpen(_ path: String) -> Bool { FileMode.isOpen(path) }

    private static func octal(_ mode: Int) -> String {
        let digits = String(mode, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation

/// The accounts that this backend signs for: one for each role, so that no token can do more than its work needs.
enum ServiceAccounts {
    /// Reads the key files of a folder, for each role the one whose key signs now.
    static func signers(in folder: URL) throws -> RoleSigners {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))) ?? []
        var signers: [Role: any PayloadSigner] = [:]
        for role in [Role.server, .consumer] {
            let file = folder.appending(path: Self.keyFile(of: role, among: names, at: .now))
            guard let json = try? Data(contentsOf: file) else { throw Missing(file: file, role: role) }
            signers[role] = try LocalSigner(ServiceAccountKey(json: json))
        }
        return RoleSigners(signers)
    }

    /// `ROLE.json`, or the latest `ROLE.TIME.json` that `fleetpass keys rotate` added 10 minutes ago or before: from then
    /// on its key signs, as every verifier knows it.
    private static func keyFile(of role: Role, among names: [String], at now: Date) -> String {
        let times = names.compactMap { name -> Int64? in
            let parts = name.split(separator: ".")
            guard parts.count == 3, parts[0] == role.rawValue, parts[2] == "json" else { return nil }
            return Int64(parts[1])
        }
        let latest = times.filter { TimeInterval($0) + 600 <= now.timeIntervalSince1970 }.max()
        return latest.map { "\(role.rawValue).\($0).json" } ?? "\(role.rawValue).json"
    }

    private struct Missing: Error, CustomStringConvertible {
        let file: URL
        let role: Role

        var description: String {
            "the key file of the role \(self.role.rawValue) cannot be read: \(self.file.path(percentEncoded: false)). "
                + "KEYS is the folder of ROLE.json, such as the service-accounts folder that `fleetpass up` makes in its "
                + "data folder."
        }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation

/// The accounts that this backend signs for: one for each role, so that no token can do more than its work needs.
enum ServiceAccounts {
    /// Reads the key files `ROLE.json` in a folder.
    static func signers(in folder: URL) throws -> RoleSigners {
        var signers: [Role: any PayloadSigner] = [:]
        for role in [Role.server, .consumer] {
            let file = folder.appending(path: "\(role.rawValue).json")
            guard let json = try? Data(contentsOf: file) else { throw Missing(file: file, role: role) }
            signers[role] = try LocalSigner(ServiceAccountKey(json: json))
        }
        return RoleSigners(signers)
    }

    private struct Missing: Error, CustomStringConvertible {
        let file: URL
        let role: Role

        var description: String {
            "the key file of the role \(self.role.rawValue) cannot be read: \(self.file.path()). KEYS is the folder of "
                + "ROLE.json, such as the service-accounts folder that `fleetpass up` makes in its data folder."
        }
    }
}

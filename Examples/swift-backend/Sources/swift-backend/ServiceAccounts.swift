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
            signers[role] = try LocalSigner(ServiceAccountKey(json: Data(contentsOf: file)))
        }
        return RoleSigners(signers)
    }
}

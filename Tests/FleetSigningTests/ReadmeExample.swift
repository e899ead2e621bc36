// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation

/// Mints tokens for drivers with the key of a service account that has the role of a driver.
struct DriverTokens {
    let minter: TokenMinter

    init(keyFile: URL) throws {
        let key = try ServiceAccountKey(json: Data(contentsOf: keyFile))
        self.minter = TokenMinter(signer: try LocalSigner(key))
    }

    func token(forVehicle id: String) async throws -> String {
        let claims = try TokenType.driver(VehicleID(checking: id)).claims
        return try await self.minter.mint(claims, at: Date()).token.compactSerialization
    }
}

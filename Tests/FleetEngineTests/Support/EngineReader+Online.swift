// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens

@testable import FleetEngine

extension EngineReader {
    /// The vehicles that are online and whose last location lies in the box, in no particular order.
    func onlineVehicles(of provider: ProviderID, in box: GeoBox) throws -> [Vehicle] {
        var vehicles: [Vehicle] = []
        let scan = StoreScan(isActiveOnly: true, box: box, isOrdered: false)
        try self.scan(scan, of: provider) { (_, vehicle: Vehicle) in
            vehicles.append(vehicle)
            return true
        }
        return vehicles
    }
}

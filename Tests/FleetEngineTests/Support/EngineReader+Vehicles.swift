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

    /// Every vehicle as the tables have it, in the order of ids: `ID: NAME`.
    func listedVehicles(of provider: ProviderID) throws -> [String] {
        var listed: [String] = []
        try self.scan(StoreScan(), of: provider) { (id, vehicle: Vehicle) in
            listed.append("\(id): \(vehicle.name)")
            return true
        }
        return listed
    }
}

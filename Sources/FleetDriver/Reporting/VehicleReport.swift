// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens
import Foundation

/// One update of a vehicle: what is sent, apart from the token.
struct VehicleReport: Sendable {
    /// The vehicle state.
    var state: VehicleState
    /// The locations.
    var fixes: FixBuffer.Batch
    /// Whether this is a report that ends tracking.
    var endsTracking: Bool

    /// The report as a request.
    func request(provider: ProviderID, vehicle: VehicleID, sensor: LocationSensor) -> EngineRequest {
        var (mask, body) = self.fixes.fields(sensor)
        mask.insert("vehicle_state", at: 0)
        body["vehicleState"] = .string(self.state.rawValue)
        return EngineRequest(
            method: "PUT",
            segments: ["v1", "providers", provider.value, "vehicles", vehicle.value],
            query: [("updateMask", mask.joined(separator: ","))],
            body: Data(JSONValue.object(body).serialized)
        )
    }
}

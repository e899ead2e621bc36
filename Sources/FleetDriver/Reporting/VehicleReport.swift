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
    /// The newest location, if any is known.
    var last: LocationFix?
    /// Earlier unsent locations, oldest first.
    var past: [LocationFix]
    /// The number of the first fix that was recorded after the report was made.
    var end: Int
    /// Whether this is the one report that ends tracking.
    var endsTracking: Bool

    /// The report as a request.
    func request(provider: ProviderID, vehicle: VehicleID, sensor: LocationSensor) -> EngineRequest {
        var mask = ["vehicle_state"]
        var body: JSONObject = ["vehicleState": .string(self.state.rawValue)]
        if let last {
            mask.append("last_location")
            body["lastLocation"] = last.json(sensor)
        }
        if !self.past.isEmpty {
            mask.append("past_locations")
            body["pastLocations"] = .array(self.past.map { $0.json(sensor) })
        }
        return EngineRequest(
            method: "PUT",
            segments: ["v1", "providers", provider.value, "vehicles", vehicle.value],
            query: [("updateMask", mask.joined(separator: ","))],
            body: Data(JSONValue.object(body).serialized)
        )
    }
}

extension LocationFix {
    /// The engine's `VehicleLocation` message.
    fileprivate func json(_ sensor: LocationSensor) -> JSONValue {
        var object: JSONObject = [
            "location": .object(["latitude": .double(self.latitude), "longitude": .double(self.longitude)]),
            "locationSensor": .string(sensor.rawValue),
            "updateTime": .string(RFC3339.text(self.time)),
        ]
        object["heading"] = self.heading.map { .integer(Int64($0.rounded()) % 360) }
        object["speed"] = self.speed.map { .double($0) }
        object["altitude"] = self.altitude.map { .double($0) }
        object["latlngAccuracy"] = self.accuracy.map { .double($0) }
        return .object(object)
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

extension FixBuffer.Batch {
    /// The masked paths and the values of the batch, which both kinds of vehicle name alike.
    func fields(_ sensor: LocationSensor) -> (mask: [String], body: JSONObject) {
        var mask: [String] = []
        var body: JSONObject = [:]
        if let last {
            mask.append("last_location")
            body["lastLocation"] = last.json(sensor)
        }
        if !self.past.isEmpty {
            mask.append("past_locations")
            body["pastLocations"] = .array(self.past.map { $0.json(sensor) })
        }
        return (mask, body)
    }
}

extension LocationFix {
    /// The point alone.
    var pointJSON: JSONValue {
        .object(["latitude": .double(self.latitude), "longitude": .double(self.longitude)])
    }

    /// The engine's `VehicleLocation` message, whose fields are those of `DeliveryVehicleLocation` too.
    fileprivate func json(_ sensor: LocationSensor) -> JSONValue {
        var object: JSONObject = [
            "location": self.pointJSON,
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

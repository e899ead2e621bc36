// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// What the creation of a resource cannot do without, for recordings that do not tell it.
enum LeastCreation {
    private static let point: JSONValue = .object(["latitude": .integer(0), "longitude": .integer(0)])

    /// Fills in what is missing: fields, and the points of places, in whose stead a log may have handles.
    ///
    /// - Parameters:
    ///   - resource: What is known of the resource.
    ///   - collection: Its collection, such as `vehicles`.
    /// - Returns: The body of its creation.
    static func filled(_ resource: JSONObject, of collection: String) -> JSONObject {
        var filled = resource
        for (key, value) in self.least(of: collection, resource) where filled[key] == nil { filled[key] = value }
        for key in ["pickupPoint", "dropoffPoint", "intermediateDestinations", "plannedLocation"] {
            filled[key] = filled[key].map(self.pointed)
        }
        return filled
    }

    /// A place or several, each with a point.
    private static func pointed(_ value: JSONValue) -> JSONValue {
        if let places = value.array { return .array(places.map(self.pointed)) }
        guard var place = value.object, place["point"] == nil else { return value }
        place["point"] = self.point
        return .object(place)
    }

    private static func least(of collection: String, _ resource: JSONObject) -> JSONObject {
        let place = JSONValue.object(["point": self.point])
        switch collection {
        case "vehicles":
            return [
                "vehicleState": .string("OFFLINE"), "supportedTripTypes": .array([.string("EXCLUSIVE")]),
                "maximumCapacity": .integer(1), "vehicleType": .object(["category": .string("AUTO")]),
            ]
        case "trips":
            return ["tripType": .string("EXCLUSIVE"), "pickupPoint": place]
        case "tasks":
            let type = resource["type"] ?? .string(resource["trackingId"] == nil ? "UNAVAILABLE" : "DELIVERY")
            var least: JSONObject = ["type": type, "state": .string("OPEN"), "taskDuration": .string("60s")]
            if type != .string("UNAVAILABLE") { least["plannedLocation"] = place }
            return least
        default:
            return [:]
        }
    }
}

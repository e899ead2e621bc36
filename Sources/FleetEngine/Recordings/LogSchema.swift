// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import SwiftProtobuf

/// How Cloud Logging writes the messages of Fleet Engine, and how the API does.
///
/// The log writes keys in lower case (in newer exports, in camel case), names some fields and enumeration values in its own
/// way, and writes null where a field is unset. Names are found by what the .proto files declare.
struct LogSchema: Sendable {
    static let publicAPI = Self(index: .publicAPI)

    /// What the .proto files declare.
    let index: ServiceIndex

    init(index: ServiceIndex) {
        self.index = index
    }

    /// Turns an object of the log into one of the API; fields that the API does not have are dropped.
    ///
    /// - Parameters:
    ///   - object: The object, in either spelling.
    ///   - type: The full name of its message.
    /// - Returns: The message in the JSON of the API.
    func apiObject(_ object: JSONObject, as type: String) -> JSONObject {
        guard let message = self.index.messages[type] else { return object }
        var result = JSONObject()
        for (key, value) in object where value != .null {
            guard let field = Self.field(key.lowercased(), of: message) else { continue }
            result[field.jsonName] = self.value(value, of: field, self.apiScalar, self.apiObject)
        }
        return result
    }

    /// Turns an object of the API into one of the log.
    ///
    /// - Parameters:
    ///   - object: The message in the JSON of the API.
    ///   - type: The full name of its message.
    /// - Returns: The object in the log's names and values.
    func logObject(_ object: JSONObject, as type: String) -> JSONObject {
        guard let message = self.index.messages[type] else { return object }
        var result = JSONObject()
        for (key, value) in object {
            guard let field = message.field.first(where: { $0.jsonName == key }) else { continue }
            let name = Self.logNames["\(type).\(key)"] ?? key.lowercased()
            result[name] = self.value(value, of: field, self.logScalar, self.logObject)
        }
        return result
    }

    private func value(
        _ value: JSONValue, of field: Google_Protobuf_FieldDescriptorProto,
        _ scalar: (JSONValue, Google_Protobuf_FieldDescriptorProto) -> JSONValue,
        _ object: (JSONObject, String) -> JSONObject
    ) -> JSONValue {
        switch value {
        case .array(let elements): .array(elements.map { self.value($0, of: field, scalar, object) })
        // Some exports write the messages that wrap a number as such.
        case .object(let members) where Self.isWrapper(field): members["value"] ?? value
        case .object(let members) where field.type == .message: .object(object(members, field.fullTypeName))
        default: scalar(value, field)
        }
    }

    private func apiScalar(_ value: JSONValue, _ field: Google_Protobuf_FieldDescriptorProto) -> JSONValue {
        guard field.type == .enum, let text = value.string,
            let names = self.index.enumerations[field.fullTypeName]?.value.map(\.name), !names.contains(text)
        else { return value }
        // The log decorates a name with that of its type: the value with the most words that all occur is meant.
        let words = Self.words(text)
        let meant = names.filter { Self.words($0).isSubset(of: words) }.max { $0.count < $1.count }
        return .string(meant ?? text)
    }

    private func logScalar(_ value: JSONValue, _ field: Google_Protobuf_FieldDescriptorProto) -> JSONValue {
        guard field.type == .enum, let text = value.string, let form = Self.logForms[field.fullTypeName]
        else {
            return value
        }
        return .string(form(text))
    }

    private static func field(
        _ key: String, of message: Google_Protobuf_DescriptorProto
    ) -> Google_Protobuf_FieldDescriptorProto? {
        let own = message.field.first { $0.jsonName.lowercased() == key }
        guard own == nil, let name = self.apiNames[key] else { return own }
        return message.field.first { $0.jsonName == name }
    }

    private static func isWrapper(_ field: Google_Protobuf_FieldDescriptorProto) -> Bool {
        field.typeName.hasPrefix(".google.protobuf.") && field.typeName.hasSuffix("Value")
    }

    private static func words(_ text: String) -> Set<Substring> { Set(text.split(separator: "_")) }
}

extension LogSchema {
    /// What the log calls fields, where its message has no field of that name.
    private static let apiNames = [
        "state": "vehicleState", "status": "tripStatus", "navstatus": "navigationStatus",
        "locsensor": "locationSensor", "supportedtrips": "supportedTripTypes", "vehiclecategory": "category",
        "type": "waypointType", "bearingaccuracy": "headingAccuracy",
        "currentroutesegmenthandle": "currentRouteSegment",
    ]

    private static let logNames = [
        "maps.fleetengine.v1.Vehicle.vehicleState": "state",
        "maps.fleetengine.v1.Vehicle.navigationStatus": "navstatus",
        "maps.fleetengine.v1.Vehicle.supportedTripTypes": "supportedtrips",
        "maps.fleetengine.v1.Vehicle.VehicleType.category": "vehiclecategory",
        "maps.fleetengine.v1.VehicleLocation.locationSensor": "locsensor",
        "maps.fleetengine.v1.Trip.tripStatus": "status",
        "maps.fleetengine.v1.TripWaypoint.waypointType": "type",
        "maps.fleetengine.delivery.v1.DeliveryVehicleLocation.locationSensor": "locsensor",
    ]

    private static let logForms: [String: @Sendable (String) -> String] = [
        "maps.fleetengine.v1.VehicleState": { "VEHICLE_STATE_\($0)" },
        "maps.fleetengine.v1.TripStatus": { "TRIP_STATUS_\($0)" },
        "maps.fleetengine.v1.TripType": { "\($0)_TRIP" },
        "maps.fleetengine.v1.LocationSensor": { "LOCATION_SENSOR_\($0)" },
        "maps.fleetengine.v1.NavigationStatus": { "NAVIGATION_STATUS_\($0)" },
        "maps.fleetengine.v1.WaypointType": { "WAYPOINT_TYPE_\($0.replacing("_WAYPOINT_TYPE", with: ""))" },
        "maps.fleetengine.delivery.v1.DeliveryVehicleLocationSensor": { "LOCATION_SENSOR_\($0)" },
        "maps.fleetengine.delivery.v1.DeliveryVehicleNavigationStatus": { "NAVIGATION_STATUS_\($0)" },
        "maps.fleetengine.delivery.v1.VehicleStop.State": { "VEHICLE_STOP_STATE_LOG_\($0)" },
        "maps.fleetengine.delivery.v1.Task.Type": { "TASK_TYPE_LOG_\($0)" },
        "maps.fleetengine.delivery.v1.Task.State": { "TASK_STATE_LOG_\($0)" },
        "maps.fleetengine.delivery.v1.Task.TaskOutcome": { "TASK_OUTCOME_LOG_\($0)" },
    ]
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import SwiftProtobuf

@testable import FleetEngine

/// The messages of the public API as their .proto files declare them, taken apart once for all that is drawn from them.
struct FuzzSchema: Sendable {
    struct Field: Sendable {
        let number: Int
        /// Its name in the contract.
        let name: String
        let jsonName: String
        let type: Google_Protobuf_FieldDescriptorProto.TypeEnum
        /// The full name of its message or enumeration.
        let typeName: String
        let isRepeated: Bool
        /// Whether a message of its kind is hardly ever good without it.
        let isEssential: Bool
    }

    static let publicAPI = Self(.publicAPI)

    let messages: [String: [Field]]
    let enumerations: [String: [String]]

    init(_ index: ServiceIndex) {
        self.enumerations = index.enumerations
        self.messages = Dictionary(
            uniqueKeysWithValues: index.messages.map { name, message in
                let kind = name.split(separator: ".").last.map(String.init) ?? name
                let fields = message.field.map { field in
                    Field(
                        number: Int(field.number), name: field.name, jsonName: field.jsonName, type: field.type,
                        typeName: field.fullTypeName, isRepeated: field.label == .repeated,
                        isEssential: Self.essential[kind]?.contains(field.name) ?? false)
                }
                return (name, fields)
            })
    }

    private static let essential: [String: Set<String>] = [
        "Vehicle": ["vehicle_state", "supported_trip_types", "maximum_capacity", "vehicle_type"],
        "VehicleType": ["category"],
        "VehicleLocation": ["location"],
        "Trip": ["trip_type", "pickup_point"],
        "TerminalLocation": ["point"],
        "TripWaypoint": ["trip_id", "waypoint_type"],
        "LatLng": ["latitude", "longitude"],
        "Viewport": ["low", "high"],
        "VehicleAttribute": ["key"],
        "Task": ["type", "state", "tracking_id", "task_duration", "planned_location"],
        "LocationInfo": ["point"],
        "DeliveryVehicleLocation": ["location"],
        "DeliveryVehicleAttribute": ["key"],
        "VehicleJourneySegment": ["stop"],
        "VehicleStop": ["planned_location", "state", "tasks"],
        "TaskInfo": ["task_id"],
        "TimeWindow": ["start_time", "end_time"],
        "SearchVehiclesRequest": [
            "parent", "pickup_point", "pickup_radius_meters", "count", "minimum_capacity", "trip_types",
            "vehicle_types", "order_by",
        ],
    ]
}

/// A drawn value, before it is written in one form or the other.
indirect enum FuzzValue: Sendable {
    case text(String)
    case integer(Int64)
    case real(Double)
    case flag(Bool)
    /// A value of an enumeration, by its place.
    case choice(Int)
    case time(FuzzTime)
    /// Names of fields in the spelling of the contract.
    case mask([String])
    /// A message that only wraps a value.
    case wrapped(FuzzValue)
    case message([(field: FuzzSchema.Field, value: FuzzValue)])
    case list([FuzzValue])
}

/// A point in time or a span of it, with the form that JSON gives it.
struct FuzzTime: Sendable {
    let json: String
    let seconds: Int64
    let nanos: Int32
}

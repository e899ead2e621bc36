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
        /// Whether the creation of a resource of its kind is refused with it.
        let isForLater: Bool
    }

    static let publicAPI = Self(.publicAPI)

    let messages: [String: [Field]]
    /// The values of each enumeration.
    let enumerations: [String: [Google_Protobuf_EnumValueDescriptorProto]]
    /// Fields of a message that exclude each other: for each choice among them, the sets that may be left out of a good one.
    let exclusions: [String: [[Set<String>]]]

    init(_ index: ServiceIndex) {
        self.enumerations = index.enumerations.mapValues(\.value)
        self.exclusions = Dictionary(
            uniqueKeysWithValues: index.messages.map { name, message in
                let unions = message.oneofDecl.indices.map { union in
                    message.field.filter { $0.hasOneofIndex && $0.oneofIndex == union }.map { Set([$0.name]) }
                }
                let choices = (Self.alternatives[Self.kind(name)] ?? []) + unions
                return (name, choices.map { sets in sets.map { Set(sets.joined()).subtracting($0) } })
            })
        self.messages = Dictionary(
            uniqueKeysWithValues: index.messages.map { name, message in
                let kind = Self.kind(name)
                let fields = message.field.map { field in
                    Field(
                        number: Int(field.number), name: field.name, jsonName: field.jsonName, type: field.type,
                        typeName: field.fullTypeName, isRepeated: field.label == .repeated,
                        isEssential: Self.essential[kind]?.contains(field.name) ?? false,
                        isForLater: Self.later[kind]?.contains(field.name) ?? false)
                }
                return (name, fields)
            })
    }

    /// The name of a message without its package.
    private static func kind(_ name: String) -> String { name.split(separator: ".").last.map(String.init) ?? name }

    private static let essential: [String: Set<String>] = [
        "Vehicle": ["vehicle_state", "supported_trip_types", "last_location", "maximum_capacity", "vehicle_type"],
        "VehicleType": ["category"],
        "VehicleLocation": ["location"],
        "Trip": ["trip_type", "pickup_point"],
        "TerminalLocation": ["point"],
        "TripWaypoint": ["trip_id", "waypoint_type"],
        "LatLng": ["latitude", "longitude"],
        "Viewport": ["low", "high"],
        "VehicleAttribute": ["key"],
        "VehicleAttributeList": ["attributes"],
        "LicensePlate": ["country_code"],
        "StopLocation": ["point"],
        "TripAttribute": ["key"],
        "Task": ["type", "state", "tracking_id", "task_duration", "planned_location"],
        "LocationInfo": ["point"],
        "DeliveryVehicleLocation": ["location"],
        "DeliveryVehicleAttribute": ["key"],
        "TaskAttribute": ["key"],
        "VehicleJourneySegment": ["stop"],
        "VehicleStop": ["planned_location", "state", "tasks"],
        "TaskInfo": ["task_id"],
        "TimeWindow": ["start_time", "end_time"],
        "CreateVehicleRequest": ["parent", "vehicle_id", "vehicle"],
        "GetVehicleRequest": ["name"],
        "UpdateVehicleRequest": ["name", "vehicle", "update_mask"],
        "UpdateVehicleAttributesRequest": ["name", "attributes"],
        "DeleteVehicleRequest": ["name"],
        "ListVehiclesRequest": ["parent"],
        "SearchVehiclesRequest": [
            "parent", "pickup_point", "dropoff_point", "pickup_radius_meters", "count", "minimum_capacity",
            "trip_types", "vehicle_types", "order_by", "current_trips_present",
        ],
        "CreateTripRequest": ["parent", "trip_id", "trip"],
        "GetTripRequest": ["name"],
        "UpdateTripRequest": ["name", "trip", "update_mask"],
        "DeleteTripRequest": ["name"],
        "SearchTripsRequest": ["parent"],
        "ReportBillableTripRequest": ["name", "country_code", "platform"],
        "CreateDeliveryVehicleRequest": ["parent", "delivery_vehicle_id", "delivery_vehicle"],
        "GetDeliveryVehicleRequest": ["name"],
        "UpdateDeliveryVehicleRequest": ["delivery_vehicle", "update_mask"],
        "DeleteDeliveryVehicleRequest": ["name"],
        "ListDeliveryVehiclesRequest": ["parent"],
        "CreateTaskRequest": ["parent", "task_id", "task"],
        "BatchCreateTasksRequest": ["parent", "requests"],
        "GetTaskRequest": ["name"],
        "UpdateTaskRequest": ["task", "update_mask"],
        "DeleteTaskRequest": ["name"],
        "ListTasksRequest": ["parent"],
        "GetTaskTrackingInfoRequest": ["name"],
    ]

    private static let later: [String: Set<String>] = [
        "Task": [
            "task_outcome", "task_outcome_time", "task_outcome_location", "task_outcome_location_source",
            "delivery_vehicle_id", "journey_sharing_info",
        ],
        "DeliveryVehicle": [
            "past_locations", "navigation_status", "current_route_segment", "current_route_segment_end_point",
            "remaining_distance_meters", "remaining_duration", "remaining_vehicle_journey_segments",
        ],
    ]

    /// Sets of fields of which a good message keeps to one; an empty set is for one without the others.
    private static let alternatives: [String: [[Set<String>]]] = [
        "SearchVehiclesRequest": [
            Self.filterOrLists, [["current_trips_present"], ["include_back_to_back"]], [["dropoff_point"], []],
        ],
        "ListVehiclesRequest": [Self.filterOrLists],
        "VehicleAttribute": [[["value"], ["string_value", "bool_value", "number_value"]]],
        "DeliveryVehicleAttribute": [[["value"], ["string_value", "bool_value", "number_value"]]],
        "Task": [[["tracking_id"], []]],
    ]

    private static let filterOrLists: [Set<String>] = [
        ["filter"], ["required_attributes", "required_one_of_attributes", "required_one_of_attribute_sets"],
    ]
}

/// A drawn value, before it is written in one form or the other.
indirect enum FuzzValue: Sendable {
    case text(String)
    case data([UInt8])
    case integer(Int64)
    case real(Double)
    case flag(Bool)
    /// A value of an enumeration, by its number.
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

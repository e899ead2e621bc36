// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// One row of the permission matrix: what a method, or some masked fields of it, takes.
public struct AccessRule: Hashable, Sendable {
    /// Which calls of the method the row is for.
    public enum Fields: Hashable, Sendable {
        /// Every call.
        case all
        /// Calls whose mask names one of these top-level fields, and creations that set one.
        case only(Set<String>)
        /// Calls whose mask names a field that no other row of the method lists.
        case others
    }

    /// Which claim must reach what the call addresses.
    public enum Claim: String, Hashable, Sendable {
        /// None: the permission is enough.
        case none
        /// `vehicleid` covers the vehicle.
        case vehicle
        /// `vehicleid` is the wildcard.
        case everyVehicle
        /// `vehicleid` covers the vehicle searched by; the wildcard where the search names none.
        case vehicleSearched
        /// `tripid` covers the trip.
        case trip
        /// `tripid` covers the trip, or `vehicleid` covers the vehicle it is assigned to.
        case tripOrItsVehicle
        /// `vehicleid` covers the vehicle that the trip is assigned to, or that the call assigns it to.
        case vehicleOfTrip
        /// `tripid`, where the token has one, covers the trip that the search names, where it names one.
        case tripSearchedFor
        /// `deliveryvehicleid` covers the delivery vehicle.
        case deliveryVehicle
        /// `deliveryvehicleid` is the wildcard.
        case everyDeliveryVehicle
        /// `taskid` covers the task.
        case task
        /// `taskid` is the wildcard.
        case everyTask
        /// `taskids` covers every task of the batch.
        case taskList
        /// `trackingid` covers the tracking id.
        case tracking
    }

    /// The method.
    public let method: FleetMethod
    /// The masked fields the row is for.
    public let fields: Fields
    /// The permissions the role must hold, all of them.
    public let permissions: Set<Permission>
    /// The claim the token must carry.
    public let claim: Claim
    /// The permissions that, held beside these, free the account from claims; `nil` where none do.
    let freeingPermissions: Set<Permission>?

    private init(_ method: FleetMethod, _ permissions: Permission..., claim: Claim) {
        self.init(method, .all, Set(permissions), claim)
    }

    private init(_ method: FleetMethod, _ fields: Fields, _ permissions: Permission..., claim: Claim) {
        self.init(method, fields, Set(permissions), claim)
    }

    private init(_ method: FleetMethod, _ fields: Fields, _ permissions: Set<Permission>, _ claim: Claim) {
        self.method = method
        self.fields = fields
        self.permissions = permissions
        self.claim = claim
        let freeing = permissions.map(\.allActions)
        self.freeingPermissions = freeing.contains(nil) ? nil : Set(freeing.compactMap(\.self))
    }
}

extension AccessRule {
    /// The permission matrix of both services, the only thing that decides access.
    ///
    /// Permissions of a method are mapped by name from the IAM reference; the location fields of the vehicles are those
    /// the driver SDK was recorded sending, and the older `route`. Who reaches a trip only through its vehicle cannot
    /// give it to another: that would write into the other vehicle's plan. The order of all stops of a vehicle takes
    /// through a trip what it takes through the vehicle. Denials of the published validation scripts are all met.
    public static let matrix: [AccessRule] = [
        AccessRule(.createVehicle, .vehiclesCreate, claim: .vehicle),
        AccessRule(.getVehicle, .vehiclesGet, claim: .vehicle),
        AccessRule(.updateVehicle, .only(vehicleLocationFields), .vehiclesUpdateLocation, claim: .vehicle),
        AccessRule(.updateVehicle, .others, .vehiclesUpdate, claim: .vehicle),
        AccessRule(.updateVehicleAttributes, .vehiclesUpdate, claim: .vehicle),
        AccessRule(.deleteVehicle, .vehiclesDelete, claim: .vehicle),
        AccessRule(.listVehicles, .vehiclesList, claim: .everyVehicle),
        AccessRule(.searchVehicles, .vehiclesSearch, claim: .tripSearchedFor),
        AccessRule(.createTrip, .tripsCreate, claim: .trip),
        AccessRule(.createTrip, .only(["vehicle_waypoints"]), .tripsCreate, .vehiclesUpdate, claim: .vehicleOfTrip),
        AccessRule(.getTrip, .tripsGet, claim: .tripOrItsVehicle),
        AccessRule(.updateTrip, .others, .tripsUpdate, claim: .tripOrItsVehicle),
        AccessRule(.updateTrip, .only(["trip_status"]), .tripsUpdate, .tripsUpdateState, claim: .tripOrItsVehicle),
        AccessRule(.updateTrip, .only(["vehicle_id"]), .tripsUpdate, claim: .trip),
        AccessRule(.updateTrip, .only(["vehicle_waypoints"]), .tripsUpdate, .vehiclesUpdate, claim: .vehicleOfTrip),
        AccessRule(.deleteTrip, .tripsDelete, claim: .trip),
        AccessRule(.searchTrips, .tripsSearch, claim: .vehicleSearched),
        AccessRule(.reportBillableTrip, .billableTripsReport, claim: .trip),
        AccessRule(.createDeliveryVehicle, .deliveryVehiclesCreate, claim: .deliveryVehicle),
        AccessRule(.getDeliveryVehicle, .deliveryVehiclesGet, claim: .deliveryVehicle),
        AccessRule(
            .updateDeliveryVehicle, .only(deliveryVehicleLocationFields), .deliveryVehiclesUpdateLocation,
            claim: .deliveryVehicle
        ),
        AccessRule(
            .updateDeliveryVehicle, .only(["remaining_vehicle_journey_segments"]),
            .deliveryVehiclesUpdateVehicleStops, claim: .deliveryVehicle
        ),
        AccessRule(.updateDeliveryVehicle, .others, .deliveryVehiclesUpdate, claim: .deliveryVehicle),
        AccessRule(.deleteDeliveryVehicle, .deliveryVehiclesDelete, claim: .deliveryVehicle),
        AccessRule(.listDeliveryVehicles, .deliveryVehiclesList, claim: .everyDeliveryVehicle),
        AccessRule(.createTask, .tasksCreate, claim: .task),
        AccessRule(.batchCreateTasks, .tasksCreate, claim: .taskList),
        AccessRule(.getTask, .tasksGet, claim: .task),
        AccessRule(.updateTask, .tasksUpdate, claim: .task),
        AccessRule(.deleteTask, .tasksDelete, claim: .task),
        AccessRule(.listTasks, .tasksList, claim: .everyTask),
        AccessRule(.getTaskTrackingInfo, .taskTrackingInfoGet, claim: .tracking),
    ]

    /// The fields of a vehicle that its driver reports.
    public static let vehicleLocationFields: Set<String> = [
        "last_location", "past_locations", "vehicle_state", "device_settings", "navigation_status",
        "current_route_segment", "current_route_segment_end_point", "current_route_segment_traffic",
        "eta_to_first_waypoint", "remaining_time_seconds", "remaining_distance_meters", "route",
    ]

    /// The fields of a delivery vehicle that its driver reports.
    public static let deliveryVehicleLocationFields: Set<String> = [
        "last_location", "past_locations", "navigation_status", "current_route_segment",
        "current_route_segment_end_point", "remaining_distance_meters", "remaining_duration",
    ]

    /// The rows of one method, and the fields that they list.
    private struct Rows {
        let rows: [AccessRule]
        let listed: Set<String>

        init(_ rows: [AccessRule]) {
            self.rows = rows
            self.listed = rows.reduce(into: []) { listed, row in
                if case .only(let names) = row.fields { listed.formUnion(names) }
            }
        }

        /// The rows that a mask touches.
        func touched(by paths: [String]) -> [AccessRule] {
            let fields = paths.map(AccessRule.topLevelField)
            return self.rows.filter { row in fields.contains { self.isTouched(row, by: $0) } }
        }

        /// Whether a row is for a field that a mask names.
        func isTouched(_ row: AccessRule, by field: String) -> Bool {
            switch row.fields {
            case .all: true
            case .only(let names): names.contains(field)
            case .others: !self.listed.contains(field)
            }
        }
    }

    private static let byMethod = Dictionary(grouping: matrix, by: \.method).mapValues(Rows.init)

    /// The rows that a call must meet: all rows its mask touches, or the method's first row, which most callers meet, when
    /// the mask is empty (an empty mask is refused later, as an argument).
    public static func rows(for method: FleetMethod, maskedFields: [String]) -> [AccessRule] {
        guard let rows = self.byMethod[method] else { return [] }
        guard rows.rows.count > 1 else { return rows.rows }
        return maskedFields.isEmpty ? Array(rows.rows.prefix(1)) : rows.touched(by: maskedFields)
    }

    /// Those paths of a mask that the row is for and not every call of its method.
    func paths(of mask: [String]) -> [String] {
        guard self.fields != .all, let rows = Self.byMethod[self.method] else { return [] }
        return mask.filter { rows.isTouched(self, by: Self.topLevelField($0)) }
    }

    /// The first segment of a mask path in snake case: `lastLocation.heading` is `last_location`.
    static func topLevelField(_ path: String) -> String {
        let field = path.utf8.prefix { $0 != UInt8(ascii: ".") }
        let uppercase = UInt8(ascii: "A")...UInt8(ascii: "Z")
        guard field.contains(where: uppercase.contains) else { return String(Substring(field)) }
        // Made in place, as it is for each report of a driver.
        let length = field.reduce(0) { $0 + (uppercase.contains($1) ? 2 : 1) }
        return String(unsafeUninitializedCapacity: length) { name in
            var end = 0
            for byte in field {
                if uppercase.contains(byte) {
                    name[end] = UInt8(ascii: "_")
                    end += 1
                }
                name[end] = uppercase.contains(byte) ? byte | 0x20 : byte
                end += 1
            }
            return end
        }
    }
}

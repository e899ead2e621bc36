// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// What of the access matrix is walked: callers, calls and claims, and which of them are allowed.
///
/// What is allowed is written out from the published roles and validation scripts, not computed from the engine's table.
enum AccessCell {
    /// A call, or a group of masked fields of one.
    enum Operation: String, CaseIterable {
        case createVehicle, getVehicle, updateVehicleLocation, updateVehicleState, updateVehicleOther
        case updateVehicleMixed, updateVehicleAttributes, deleteVehicle, listVehicles, searchVehicles
        case createTrip, orderThroughNewTrip, getTrip, updateTripFields, updateTripStatus, updateTripMixed
        case orderThroughTrip, assignTrip, deleteTrip
        case searchTripsOfVehicle, searchAllTrips, reportBillableTrip
        case createDeliveryVehicle, getDeliveryVehicle, updateDeliveryVehicleLocation, updateDeliveryVehicleStops
        case updateDeliveryVehicleOther, updateDeliveryVehicleMixed, deleteDeliveryVehicle, listDeliveryVehicles
        case createTask, batchCreateTasks, getTask, updateTask, deleteTask, listTasks, getTaskTrackingInfo
    }

    /// What the token claims, seen from the resource that is called.
    enum Claim: String, CaseIterable {
        case none
        case ownVehicle, otherVehicle, everyVehicle, ownTrip, otherTrip, everyTrip
        case ownVehicleOtherTrip, otherVehicleOwnTrip, everyVehicleAndTrip
        case ownDeliveryVehicle, otherDeliveryVehicle, everyDeliveryVehicle, ownTask, otherTask, everyTask
        case ownDeliveryVehicleOwnTask, ownDeliveryVehicleOtherTask, otherDeliveryVehicleOwnTask
        case ownTaskList, partOfTaskList, otherTaskList, everyTaskList
        case ownTracking, otherTracking, everyTracking
        case everyDelivery, everything
    }

    static let roles = [
        "consumer", "driver", "server", "fleet_reader", "ondemand_admin", "delivery_consumer",
        "delivery_untrusted_driver", "delivery_trusted_driver", "delivery_fleet_reader", "delivery_server",
        "delivery_admin", "gardener",
    ]

    // The claims that open an operation, for the roles that have the permission.

    static let vehicle: Set<Claim> = [
        .ownVehicle, .everyVehicle, .ownVehicleOtherTrip, .everyVehicleAndTrip, .everything,
    ]
    static let everyVehicle: Set<Claim> = [.everyVehicle, .everyVehicleAndTrip, .everything]
    static let trip: Set<Claim> = [.ownTrip, .everyTrip, .otherVehicleOwnTrip, .everyVehicleAndTrip, .everything]
    static let tripAndVehicle = trip.intersection(vehicle)
    static let tripOrVehicle: Set<Claim> = [
        .ownTrip, .everyTrip, .otherVehicleOwnTrip, .ownVehicle, .everyVehicle, .ownVehicleOtherTrip,
        .everyVehicleAndTrip, .everything,
    ]
    /// A search needs no claim for what it finds; a token for a trip is for that trip's search.
    static let search = Set(Claim.allCases).subtracting([.none, .otherTrip, .ownVehicleOtherTrip])
    static let deliveryVehicle: Set<Claim> = [
        .ownDeliveryVehicle, .everyDeliveryVehicle, .ownDeliveryVehicleOwnTask, .ownDeliveryVehicleOtherTask,
        .everyDelivery, .everything,
    ]
    static let everyDeliveryVehicle: Set<Claim> = [.everyDeliveryVehicle, .everyDelivery, .everything]
    static let task: Set<Claim> = [
        .ownTask, .everyTask, .ownDeliveryVehicleOwnTask, .otherDeliveryVehicleOwnTask, .everyDelivery, .everything,
    ]
    static let everyTask: Set<Claim> = [.everyTask, .everyDelivery, .everything]
    static let taskList: Set<Claim> = [.ownTaskList, .everyTaskList]
    static let tracking: Set<Claim> = [.ownTracking, .everyTracking, .everyDelivery, .everything]
    /// An admin needs no claims, and what it has does not narrow it.
    static let any = Set(Claim.allCases)

    /// Role by operation; what is not listed is denied whatever the claim.
    static let allowed: [String: [Operation: Set<Claim>]] = [
        "consumer": [.getVehicle: vehicle, .searchVehicles: search, .getTrip: tripOrVehicle],
        "driver": [
            .getVehicle: vehicle, .updateVehicleLocation: vehicle, .updateVehicleState: vehicle,
            .getTrip: tripOrVehicle, .updateTripFields: tripOrVehicle, .assignTrip: trip,
            .searchTripsOfVehicle: vehicle, .searchAllTrips: everyVehicle,
        ],
        "server": [
            .createVehicle: vehicle, .getVehicle: vehicle, .updateVehicleLocation: vehicle,
            .updateVehicleState: vehicle, .updateVehicleOther: vehicle, .updateVehicleMixed: vehicle,
            .updateVehicleAttributes: vehicle, .deleteVehicle: vehicle, .listVehicles: everyVehicle,
            .searchVehicles: search, .createTrip: trip, .orderThroughNewTrip: tripAndVehicle,
            .getTrip: tripOrVehicle, .updateTripFields: tripOrVehicle, .updateTripStatus: tripOrVehicle,
            .updateTripMixed: tripOrVehicle, .orderThroughTrip: vehicle, .assignTrip: trip, .deleteTrip: trip,
            .searchTripsOfVehicle: vehicle, .searchAllTrips: everyVehicle, .reportBillableTrip: trip,
        ],
        "fleet_reader": [
            .getVehicle: vehicle, .listVehicles: everyVehicle, .searchVehicles: search, .getTrip: tripOrVehicle,
            .searchTripsOfVehicle: vehicle, .searchAllTrips: everyVehicle, .getDeliveryVehicle: deliveryVehicle,
            .listDeliveryVehicles: everyDeliveryVehicle, .getTask: task, .listTasks: everyTask,
            .getTaskTrackingInfo: tracking,
        ],
        "ondemand_admin": [
            .createVehicle: any, .getVehicle: any, .updateVehicleLocation: any, .updateVehicleState: any,
            .updateVehicleOther: any, .updateVehicleMixed: any, .updateVehicleAttributes: any, .deleteVehicle: any,
            .listVehicles: any, .searchVehicles: any, .createTrip: any, .orderThroughNewTrip: any, .getTrip: any,
            .updateTripFields: any, .updateTripStatus: any, .updateTripMixed: any, .orderThroughTrip: any,
            .assignTrip: any, .deleteTrip: any, .searchTripsOfVehicle: any, .searchAllTrips: any,
            .reportBillableTrip: any,
        ],
        "delivery_consumer": [.getTaskTrackingInfo: tracking],
        "delivery_untrusted_driver": [
            .getDeliveryVehicle: deliveryVehicle, .updateDeliveryVehicleLocation: deliveryVehicle,
        ],
        "delivery_trusted_driver": [
            .createDeliveryVehicle: deliveryVehicle, .getDeliveryVehicle: deliveryVehicle,
            .updateDeliveryVehicleLocation: deliveryVehicle, .updateDeliveryVehicleStops: deliveryVehicle,
            .updateDeliveryVehicleOther: deliveryVehicle, .updateDeliveryVehicleMixed: deliveryVehicle,
            .createTask: task, .batchCreateTasks: taskList, .updateTask: task,
        ],
        "delivery_fleet_reader": [
            .getDeliveryVehicle: deliveryVehicle, .listDeliveryVehicles: everyDeliveryVehicle, .getTask: task,
            .listTasks: everyTask, .getTaskTrackingInfo: tracking,
        ],
        "delivery_server": [
            .createDeliveryVehicle: deliveryVehicle, .getDeliveryVehicle: deliveryVehicle,
            .updateDeliveryVehicleLocation: deliveryVehicle, .updateDeliveryVehicleStops: deliveryVehicle,
            .updateDeliveryVehicleOther: deliveryVehicle, .updateDeliveryVehicleMixed: deliveryVehicle,
            .deleteDeliveryVehicle: deliveryVehicle, .listDeliveryVehicles: everyDeliveryVehicle, .createTask: task,
            .batchCreateTasks: taskList, .getTask: task, .updateTask: task, .deleteTask: task, .listTasks: everyTask,
            .getTaskTrackingInfo: tracking,
        ],
        "delivery_admin": [
            .createDeliveryVehicle: any, .getDeliveryVehicle: any, .updateDeliveryVehicleLocation: any,
            .updateDeliveryVehicleStops: any, .updateDeliveryVehicleOther: any, .updateDeliveryVehicleMixed: any,
            .deleteDeliveryVehicle: any, .listDeliveryVehicles: any, .createTask: any, .batchCreateTasks: any,
            .getTask: any, .updateTask: any, .deleteTask: any, .listTasks: any, .getTaskTrackingInfo: any,
        ],
    ]

    /// Whether a role's token with a claim may make a call.
    static func isAllowed(_ role: String, _ operation: Operation, _ claim: Claim) -> Bool {
        self.allowed[role]?[operation]?.contains(claim) ?? false
    }

    /// A token of a role whose claim is seen from a target.
    static func token(_ role: String, _ claim: Claim, for target: AccessTarget) -> String {
        let tasks = target.tasks.joined(separator: ",")
        let claims: [String] =
            switch claim {
            case .none: []
            case .ownVehicle: ["vehicleid=\(target.vehicle)"]
            case .otherVehicle: ["vehicleid=veh-2"]
            case .everyVehicle: ["vehicleid=*"]
            case .ownTrip: ["tripid=\(target.trip)"]
            case .otherTrip: ["tripid=trip-2"]
            case .everyTrip: ["tripid=*"]
            case .ownVehicleOtherTrip: ["vehicleid=\(target.vehicle)", "tripid=trip-2"]
            case .otherVehicleOwnTrip: ["vehicleid=veh-2", "tripid=\(target.trip)"]
            case .everyVehicleAndTrip: ["vehicleid=*", "tripid=*"]
            case .ownDeliveryVehicle: ["deliveryvehicleid=\(target.deliveryVehicle)"]
            case .otherDeliveryVehicle: ["deliveryvehicleid=dv-2"]
            case .everyDeliveryVehicle: ["deliveryvehicleid=*"]
            case .ownTask: ["taskid=\(target.tasks[0])"]
            case .otherTask: ["taskid=task-2"]
            case .everyTask: ["taskid=*"]
            case .ownDeliveryVehicleOwnTask:
                ["deliveryvehicleid=\(target.deliveryVehicle)", "taskid=\(target.tasks[0])"]
            case .ownDeliveryVehicleOtherTask: ["deliveryvehicleid=\(target.deliveryVehicle)", "taskid=task-2"]
            case .otherDeliveryVehicleOwnTask: ["deliveryvehicleid=dv-2", "taskid=\(target.tasks[0])"]
            case .ownTaskList: ["taskids=\(tasks)"]
            case .partOfTaskList: ["taskids=\(target.tasks[0]),task-2"]
            case .otherTaskList: ["taskids=task-2"]
            case .everyTaskList: ["taskids=*"]
            case .ownTracking: ["trackingid=\(target.tracking)"]
            case .otherTracking: ["trackingid=shp-2"]
            case .everyTracking: ["trackingid=*"]
            case .everyDelivery: ["deliveryvehicleid=*", "taskid=*", "trackingid=*"]
            case .everything: ["vehicleid=*", "tripid=*", "deliveryvehicleid=*", "taskid=*", "trackingid=*"]
            }
        return ([role] + claims).joined(separator: "|")
    }
}

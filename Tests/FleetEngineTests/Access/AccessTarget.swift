// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf

@testable import FleetEngine

/// The resources that an operation of the matrix goes to.
struct AccessTarget {
    var vehicle = "veh-1"
    var trip = "trip-1"
    var deliveryVehicle = "dv-1"
    var tasks = ["task-1", "task-1"]
    var tracking = "shp-1"

    /// Resources that nobody ever made, for an operation; a new trip is none in any case, so its vehicle alone is another.
    static func nowhere(for operation: AccessCell.Operation) -> Self {
        Self(
            vehicle: "veh-nowhere",
            trip: operation == .orderThroughNewTrip ? Self(of: operation).trip : "trip-nowhere",
            deliveryVehicle: "dv-nowhere", tasks: ["task-nowhere", "task-never"], tracking: "shp-nowhere"
        )
    }

    /// Where an operation can succeed: creations need an id that is free, deletions a resource that is idle.
    init(of operation: AccessCell.Operation) {
        switch operation {
        case .createVehicle: self.vehicle = "veh-9"
        case .deleteVehicle, .updateVehicleOther: self.vehicle = "veh-3"
        case .createTrip: self.trip = "trip-9"
        case .orderThroughNewTrip: (self.trip, self.vehicle) = ("trip-9", "veh-3")
        case .deleteTrip: self.trip = "trip-3"
        case .createDeliveryVehicle: self.deliveryVehicle = "dv-9"
        case .deleteDeliveryVehicle: self.deliveryVehicle = "dv-3"
        case .createTask, .batchCreateTasks: self.tasks = ["task-8", "task-9"]
        case .deleteTask: self.tasks = ["task-3", "task-3"]
        default: break
        }
    }

    private init(vehicle: String, trip: String, deliveryVehicle: String, tasks: [String], tracking: String) {
        self.vehicle = vehicle
        self.trip = trip
        self.deliveryVehicle = deliveryVehicle
        self.tasks = tasks
        self.tracking = tracking
    }

    private static let parent = "providers/acme"

    /// The calls that an operation is made of.
    func calls(_ operation: AccessCell.Operation) -> [WireCall] {
        switch operation {
        case .createVehicle, .getVehicle, .updateVehicleLocation, .updateVehicleState, .updateVehicleOther,
            .updateVehicleMixed, .updateVehicleAttributes, .deleteVehicle, .listVehicles, .searchVehicles:
            self.vehicleCalls(operation)
        case .createTrip, .orderThroughNewTrip, .getTrip, .updateTripFields, .updateTripStatus, .updateTripMixed,
            .orderThroughTrip, .assignTrip, .deleteTrip, .searchTripsOfVehicle, .searchAllTrips, .reportBillableTrip:
            self.tripCalls(operation)
        default:
            self.deliveryCalls(operation)
        }
    }
}

// MARK: - On demand

extension AccessTarget {
    private func vehicleCalls(_ operation: AccessCell.Operation) -> [WireCall] {
        let name = "\(Self.parent)/vehicles/\(self.vehicle)"
        func update(_ mask: [String], _ change: (inout Vehicle) -> Void) -> WireCall {
            .updateVehicle(
                .with {
                    $0.name = name
                    $0.updateMask.paths = mask
                    $0.vehicle = .with(change)
                })
        }
        return switch operation {
        case .createVehicle:
            [
                .createVehicle(
                    .with {
                        $0.parent = Self.parent
                        $0.vehicleID = self.vehicle
                        $0.vehicle = .sample
                    })
            ]
        case .getVehicle: [.getVehicle(.with { $0.name = name })]
        case .updateVehicleLocation:
            [
                update([
                    "last_location", "past_locations", "device_settings", "navigation_status",
                    "current_route_segment", "current_route_segment_end_point", "current_route_segment_traffic",
                    "eta_to_first_waypoint", "remaining_time_seconds", "remaining_distance_meters",
                ]) { $0.lastLocation = .at(37.42, -122.07) }
            ]
        case .updateVehicleState: [update(["vehicleState"]) { $0.vehicleState = .offline }]
        case .updateVehicleOther:
            [
                update(["maximum_capacity"]) { $0.maximumCapacity = 5 },
                update(["supportedTripTypes"]) { $0.supportedTripTypes = [.shared] },
                update(["vehicle_type"]) { $0.vehicleType.category = .taxi },
                update(["attributes"]) { $0.attributes = [] },
                update(["license_plate"]) { $0.licensePlate.countryCode = "US" },
                update(["back_to_back_enabled"]) { $0.backToBackEnabled = true },
                update(["waypoints"]) { $0.waypoints = [] },
            ]
        case .updateVehicleMixed: [update(["last_location", "maximumCapacity"]) { $0.maximumCapacity = 5 }]
        case .updateVehicleAttributes:
            [
                .updateVehicleAttributes(
                    .with {
                        $0.name = name
                        $0.attributes = [.with { $0.key = "class" }]
                    })
            ]
        case .deleteVehicle: [.deleteVehicle(.with { $0.name = name })]
        case .listVehicles: [.listVehicles(.with { $0.parent = Self.parent })]
        default: [.searchVehicles(VehicleSearchTests.request { $0.tripID = self.trip })]
        }
    }

    private func tripCalls(_ operation: AccessCell.Operation) -> [WireCall] {
        let name = "\(Self.parent)/trips/\(self.trip)"
        func update(_ mask: [String], _ change: (inout Trip) -> Void) -> WireCall {
            .updateTrip(
                .with {
                    $0.name = name
                    $0.updateMask.paths = mask
                    $0.trip = .with(change)
                })
        }
        func create(_ change: (inout Trip) -> Void) -> WireCall {
            .createTrip(
                .with {
                    $0.parent = Self.parent
                    $0.tripID = self.trip
                    $0.trip = .with(.sample, change)
                })
        }
        return switch operation {
        case .createTrip: [create { _ in }]
        case .orderThroughNewTrip:
            [
                create { trip in
                    trip.vehicleID = self.vehicle
                    trip.vehicleWaypoints = .stops(of: self.trip)
                }
            ]
        case .getTrip: [.getTrip(.with { $0.name = name })]
        case .updateTripFields: [update(["dropoff_point"]) { $0.dropoffPoint = .at(37.5, -122.1) }]
        case .updateTripStatus: [update(["tripStatus"]) { $0.tripStatus = .enrouteToPickup }]
        case .updateTripMixed:
            [
                update(["dropoff_point", "trip_status"]) {
                    $0.dropoffPoint = .at(37.5, -122.1)
                    $0.tripStatus = .enrouteToPickup
                }
            ]
        case .orderThroughTrip: [update(["vehicle_waypoints"]) { _ in }, update(["vehicleWaypoints"]) { _ in }]
        case .assignTrip: [update(["vehicleId"]) { $0.vehicleID = "veh-2" }]
        case .deleteTrip: [.deleteTrip(.with { $0.name = name })]
        case .searchTripsOfVehicle:
            [
                .searchTrips(
                    .with {
                        $0.parent = Self.parent
                        $0.vehicleID = self.vehicle
                    })
            ]
        case .searchAllTrips: [.searchTrips(.with { $0.parent = Self.parent })]
        default:
            [
                .reportBillableTrip(
                    .with {
                        $0.name = "\(Self.parent)/billableTrips/\(self.trip)"
                        $0.countryCode = "DE"
                    })
            ]
        }
    }
}

// MARK: - Scheduled tasks

extension AccessTarget {
    private func deliveryCalls(_ operation: AccessCell.Operation) -> [WireCall] {
        let vehicle = "\(Self.parent)/deliveryVehicles/\(self.deliveryVehicle)"
        let task = "\(Self.parent)/tasks/\(self.tasks[0])"
        func update(_ mask: [String], _ change: (inout DeliveryVehicle) -> Void) -> WireCall {
            .updateDeliveryVehicle(
                .with {
                    $0.deliveryVehicle = .with(change)
                    $0.deliveryVehicle.name = vehicle
                    $0.updateMask.paths = mask
                })
        }
        return switch operation {
        case .createDeliveryVehicle:
            [
                .createDeliveryVehicle(
                    .with {
                        $0.parent = Self.parent
                        $0.deliveryVehicleID = self.deliveryVehicle
                    })
            ]
        case .getDeliveryVehicle: [.getDeliveryVehicle(.with { $0.name = vehicle })]
        case .updateDeliveryVehicleLocation:
            [
                update([
                    "lastLocation", "pastLocations", "navigationStatus", "currentRouteSegment",
                    "currentRouteSegmentEndPoint", "remainingDistanceMeters", "remainingDuration",
                ]) { $0.lastLocation.rawLocation = .at(37.42, -122.07) }
            ]
        case .updateDeliveryVehicleStops: [update(["remainingVehicleJourneySegments"]) { _ in }]
        case .updateDeliveryVehicleOther:
            [update(["attributes"]) { _ in }, update(["type"]) { $0.type = .bicycle }]
        case .updateDeliveryVehicleMixed: [update(["last_location", "attributes"]) { _ in }]
        case .deleteDeliveryVehicle: [.deleteDeliveryVehicle(.with { $0.name = vehicle })]
        case .listDeliveryVehicles: [.listDeliveryVehicles(.with { $0.parent = Self.parent })]
        case .createTask: [.createTask(DeliveryWorld.creation(of: self.tasks[0]))]
        case .batchCreateTasks:
            [
                .batchCreateTasks(
                    .with {
                        $0.parent = Self.parent
                        $0.requests = self.tasks.map { DeliveryWorld.creation(of: $0) }
                    })
            ]
        case .getTask: [.getTask(.with { $0.name = task })]
        case .updateTask:
            [
                .updateTask(
                    .with {
                        $0.task.name = task
                        $0.task.taskOutcome = .succeeded
                        $0.updateMask.paths = ["task_outcome"]
                    })
            ]
        case .deleteTask: [.deleteTask(.with { $0.name = task })]
        case .listTasks: [.listTasks(.with { $0.parent = Self.parent })]
        default:
            [.getTaskTrackingInfo(.with { $0.name = "\(Self.parent)/taskTrackingInfo/\(self.tracking)" })]
        }
    }
}

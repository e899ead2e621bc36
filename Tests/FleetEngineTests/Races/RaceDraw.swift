// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTestSupport
import Foundation
import SwiftProtobuf

@testable import FleetEngine

/// Draws the commands of races, over so few resources that they meet.
struct RaceDraw {
    var random: SeededGenerator
    private var seconds = 0

    init(seed: UInt64) { self.random = SeededGenerator(seed: seed) }

    private static let parent = "providers/acme"

    private mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: elements.indices, using: &self.random)]
    }

    private mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self.random) }

    private mutating func command(_ call: WireCall, token: String) -> RaceCommand {
        self.seconds += 1
        return RaceCommand(call: call, token: token, time: TestClock.start + TimeInterval(self.seconds))
    }

    /// What there is before the race, most of the time.
    mutating func setup(of topic: RaceScript.Topic) -> [RaceCommand] {
        var calls: [WireCall] = []
        let isDelivery =
            switch topic {
            case .vehicleUpdates, .tripAssignment: false
            case .taskStealing, .batchCreation: true
            case .deletions: self.below(2) == 0
            }
        for number in 1...2 {
            if topic != .deletions || self.below(3) > 0 {
                calls.append(isDelivery ? self.newDeliveryVehicle(number) : self.newVehicle(number))
            }
        }
        for number in 1...3 where self.below(4) > 0 {
            calls.append(isDelivery ? self.newTask(number) : self.newTrip(number))
        }
        if isDelivery, self.below(2) == 0 { calls.append(self.plan()) }
        return calls.map { self.command($0, token: isDelivery ? deliveryToken : serverToken) }
    }

    /// One command of a topic.
    mutating func command(of topic: RaceScript.Topic) -> RaceCommand {
        switch topic {
        case .vehicleUpdates: return self.command(self.vehicleUpdate(), token: serverToken)
        case .tripAssignment:
            if self.below(4) == 0 { return self.driversCommand() }
            return self.command(self.tripAssignment(), token: serverToken)
        case .taskStealing: return self.command(self.taskStealing(), token: deliveryToken)
        case .batchCreation:
            let call = self.batchCreation()
            if case .batchCreateTasks = call { return self.command(call, token: "delivery_server|taskids=*") }
            return self.command(call, token: deliveryToken)
        case .deletions:
            if self.below(2) == 0 { return self.command(self.deletion(), token: serverToken) }
            return self.command(self.deliveryDeletion(), token: deliveryToken)
        }
    }
}

// MARK: - On demand

extension RaceDraw {
    private func vehicle(_ number: Int) -> String { "\(Self.parent)/vehicles/veh-\(number)" }
    private func trip(_ number: Int) -> String { "\(Self.parent)/trips/trip-\(number)" }

    private mutating func newVehicle(_ number: Int) -> WireCall {
        let isRoomy = self.below(2) == 0
        return .createVehicle(
            .with {
                $0.parent = Self.parent
                $0.vehicleID = "veh-\(number)"
                $0.vehicle = .sample
                $0.vehicle.backToBackEnabled = isRoomy
                if isRoomy { $0.vehicle.supportedTripTypes = [.exclusive, .shared] }
            })
    }

    private mutating func newTrip(_ number: Int) -> WireCall {
        let (vehicle, isShared) = (self.below(3), self.below(2) == 0)
        return .createTrip(
            .with {
                $0.parent = Self.parent
                $0.tripID = "trip-\(number)"
                $0.trip = .sample
                if isShared { $0.trip.tripType = .shared }
                if vehicle > 0 { $0.trip.vehicleID = "veh-\(vehicle)" }
            })
    }

    private mutating func update(_ path: String, _ change: (inout Vehicle) -> Void) -> WireCall {
        let name = self.vehicle(self.below(6) == 0 ? 2 : 1)
        return .updateVehicle(
            .with {
                $0.name = name
                $0.updateMask.paths = [path]
                $0.vehicle = .with(change)
            })
    }

    private mutating func vehicleUpdate() -> WireCall {
        let number = self.below(100)
        switch self.below(8) {
        case 0, 1:
            let time = Google_Protobuf_Timestamp(date: TestClock.start + TimeInterval(number - 50))
            return self.update("last_location") {
                $0.lastLocation = .at(37 + Double(number) / 100, -122)
                $0.lastLocation.updateTime = time
            }
        case 2: return self.update("vehicle_state") { $0.vehicleState = number < 50 ? .online : .offline }
        case 3: return self.update("maximum_capacity") { $0.maximumCapacity = Int32(1 + number % 4) }
        case 4: return self.update("attributes") { $0.attributes = [.with { $0.key = "whole-\(number % 2)" }] }
        case 5:
            let name = self.vehicle(1)
            return .updateVehicleAttributes(
                .with {
                    $0.name = name
                    $0.attributes = [
                        .with {
                            $0.key = "k\(number % 3)"
                            $0.value = "\(number)"
                        }
                    ]
                })
        case 6: return .getVehicle(.with { $0.name = self.vehicle(1) })
        default: return .listVehicles(.with { $0.parent = Self.parent })
        }
    }

    private mutating func updateTrip(_ path: String, _ change: (inout Trip) -> Void) -> WireCall {
        let name = self.trip(1 + self.below(2))
        return .updateTrip(
            .with {
                $0.name = name
                $0.updateMask.paths = [path]
                $0.trip = .with(change)
            })
    }

    private mutating func tripAssignment() -> WireCall {
        let number = self.below(3)
        switch self.below(10) {
        case 0...2: return self.updateTrip("vehicle_id") { $0.vehicleID = number == 0 ? "" : "veh-\(number)" }
        case 3:
            let status = self.pick([TripStatus.enrouteToPickup, .arrivedAtPickup, .complete, .canceled])
            return self.updateTrip("trip_status") { $0.tripStatus = status }
        case 4: return self.newTrip(1 + number)
        case 5: return .deleteTrip(.with { $0.name = self.trip(1 + number) })
        case 6: return .deleteVehicle(.with { $0.name = self.vehicle(1) })
        case 7: return .getVehicle(.with { $0.name = self.vehicle(1 + number % 2) })
        case 8: return .getTrip(.with { $0.name = self.trip(1 + number) })
        default:
            return .searchTrips(
                .with {
                    $0.parent = Self.parent
                    $0.vehicleID = "veh-1"
                })
        }
    }

    /// A driver reaches a trip only as long as it is the vehicle's.
    private mutating func driversCommand() -> RaceCommand {
        let token = "driver|vehicleid=veh-\(1 + self.below(2))"
        let metres = self.below(50)
        let call =
            self.below(3) == 0
            ? WireCall.getTrip(.with { $0.name = self.trip(1) })
            : self.updateTrip("dropoff_point") { $0.dropoffPoint = .at(37.5 + Double(metres) / 1000, -122.1) }
        return self.command(call, token: token)
    }

    private mutating func deletion() -> WireCall {
        switch self.below(6) {
        case 0: return self.newVehicle(1)
        case 1: return .deleteVehicle(.with { $0.name = self.vehicle(1) })
        case 2: return self.newTrip(1)
        case 3: return .deleteTrip(.with { $0.name = self.trip(1) })
        case 4: return .listVehicles(.with { $0.parent = Self.parent })
        default: return self.updateTrip("vehicle_id") { $0.vehicleID = "veh-1" }
        }
    }
}

// MARK: - Scheduled tasks

extension RaceDraw {
    private func deliveryVehicle(_ number: Int) -> String { "\(Self.parent)/deliveryVehicles/dv-\(number)" }
    private func task(_ number: Int) -> String { "\(Self.parent)/tasks/task-\(number)" }

    private func newDeliveryVehicle(_ number: Int) -> WireCall {
        .createDeliveryVehicle(
            .with {
                $0.parent = Self.parent
                $0.deliveryVehicleID = "dv-\(number)"
                $0.deliveryVehicle.lastLocation = .deliveryAt(37.42, -122.07)
            })
    }

    private func newTask(_ number: Int) -> WireCall { .createTask(DeliveryWorld.creation(of: "task-\(number)")) }

    /// Gives some of the tasks to one of the vehicles, whoever has them.
    private mutating func plan() -> WireCall {
        let name = self.deliveryVehicle(1 + self.below(2))
        let tasks = (1...3).filter { _ in self.below(2) == 0 }
        return .updateDeliveryVehicle(
            .with {
                $0.deliveryVehicle.name = name
                $0.deliveryVehicle.remainingVehicleJourneySegments = tasks.map {
                    .stop(37.43 + Double($0) / 100, -122.07, ["task-\($0)"])
                }
                $0.updateMask.paths = ["remaining_vehicle_journey_segments"]
            })
    }

    private mutating func updateTask(_ path: String, _ change: (inout DeliveryTask) -> Void) -> WireCall {
        let name = self.task(1 + self.below(3))
        return .updateTask(
            .with {
                change(&$0.task)
                $0.task.name = name
                $0.updateMask.paths = [path]
            })
    }

    private mutating func taskStealing() -> WireCall {
        switch self.below(10) {
        case 0...3: return self.plan()
        case 4:
            let outcome = self.pick([DeliveryTask.TaskOutcome.succeeded, .failed])
            return self.updateTask("task_outcome") { $0.taskOutcome = outcome }
        case 5: return self.updateTask("state") { $0.state = .closed }
        case 6: return .deleteTask(.with { $0.name = self.task(1 + self.below(3)) })
        case 7: return .getDeliveryVehicle(.with { $0.name = self.deliveryVehicle(1 + self.below(2)) })
        case 8: return .getTaskTrackingInfo(.with { $0.name = "\(Self.parent)/taskTrackingInfo/shp-1" })
        default: return .getTask(.with { $0.name = self.task(1 + self.below(3)) })
        }
    }

    private mutating func batchCreation() -> WireCall {
        switch self.below(8) {
        case 0...3:
            let first = 1 + self.below(6)
            return .batchCreateTasks(
                .with {
                    $0.parent = Self.parent
                    $0.requests = (first..<first + 3).map { DeliveryWorld.creation(of: "task-\($0)") }
                })
        case 4: return self.newTask(1 + self.below(8))
        case 5: return .deleteTask(.with { $0.name = self.task(1 + self.below(8)) })
        case 6: return self.plan()
        default: return .listTasks(.with { $0.parent = Self.parent })
        }
    }

    private mutating func deliveryDeletion() -> WireCall {
        switch self.below(7) {
        case 0: return self.newDeliveryVehicle(1)
        case 1: return .deleteDeliveryVehicle(.with { $0.name = self.deliveryVehicle(1) })
        case 2: return self.newTask(1)
        case 3: return .deleteTask(.with { $0.name = self.task(1) })
        case 4: return self.plan()
        case 5: return .listDeliveryVehicles(.with { $0.parent = Self.parent })
        default: return self.updateTask("task_outcome") { $0.taskOutcome = .succeeded }
        }
    }
}

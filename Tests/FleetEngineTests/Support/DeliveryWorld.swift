// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import SwiftProtobuf

@testable import FleetEngine

/// An engine with delivery vehicles and tasks, and calls as a scheduled-tasks backend makes them.
struct DeliveryWorld: Sendable {
    let engine: Engine
    let clock: TestClock

    init(
        store: any EngineStore = MemoryStore(), at start: Date = TestClock.start, router: (any RoadRouter)? = nil
    ) {
        let clock = TestClock(start)
        self.clock = clock
        self.engine = Engine(store: store, verifier: TextVerifier(), router: router, now: { clock.now })
    }

    /// The creation of a task as the published role script makes it.
    static func creation(
        of id: String, tracking: String = "shp-1", _ change: (inout DeliveryTask) -> Void = { _ in }
    ) -> CreateTask.Request {
        .with {
            $0.parent = "providers/acme"
            $0.taskID = id
            $0.task.name = "providers/acme/tasks/ignored"
            $0.task.type = .delivery
            $0.task.state = .open
            $0.task.trackingID = tracking
            $0.task.plannedLocation.point = .at(37.43, -122.07)
            $0.task.taskDuration.seconds = 3600
            change(&$0.task)
        }
    }

    @discardableResult
    func createTask(
        _ id: String, tracking: String = "shp-1", token: String = deliveryToken,
        _ change: (inout DeliveryTask) -> Void = { _ in }
    ) async throws -> DeliveryTask {
        try await self.engine.perform(
            CreateTask.self, Self.creation(of: id, tracking: tracking, change), token: token)
    }

    func task(_ id: String, token: String = deliveryToken) async throws -> DeliveryTask {
        try await self.engine.perform(GetTask.self, .with { $0.name = "providers/acme/tasks/\(id)" }, token: token)
    }

    @discardableResult
    func updateTask(
        _ id: String, _ mask: [String], token: String = deliveryToken, _ change: (inout DeliveryTask) -> Void = { _ in }
    ) async throws -> DeliveryTask {
        try await self.engine.perform(
            UpdateTask.self,
            .with {
                change(&$0.task)
                $0.task.name = "providers/acme/tasks/\(id)"
                $0.updateMask.paths = mask
            },
            token: token
        )
    }

    func deleteTask(_ id: String) async throws {
        _ = try await self.engine.perform(
            DeleteTask.self, .with { $0.name = "providers/acme/tasks/\(id)" }, token: deliveryToken)
    }

    func tracking(_ id: String, token: String = deliveryToken) async throws -> TaskTrackingInfo {
        try await self.engine.perform(
            GetTaskTrackingInfo.self, .with { $0.name = "providers/acme/taskTrackingInfo/\(id)" }, token: token)
    }

    @discardableResult
    func createVehicle(
        _ id: String, _ change: (inout DeliveryVehicle) -> Void = { $0.lastLocation = .deliveryAt(37.42, -122.07) }
    ) async throws -> DeliveryVehicle {
        try await self.engine.perform(
            CreateDeliveryVehicle.self,
            .with {
                $0.parent = "providers/acme"
                $0.deliveryVehicleID = id
                change(&$0.deliveryVehicle)
            },
            token: deliveryToken
        )
    }

    func vehicle(_ id: String, token: String = deliveryToken) async throws -> DeliveryVehicle {
        try await self.engine.perform(
            GetDeliveryVehicle.self, .with { $0.name = "providers/acme/deliveryVehicles/\(id)" }, token: token)
    }

    @discardableResult
    func updateVehicle(
        _ id: String, _ mask: [String], token: String = deliveryToken,
        _ change: (inout DeliveryVehicle) -> Void = { _ in }
    ) async throws -> DeliveryVehicle {
        try await self.engine.perform(
            UpdateDeliveryVehicle.self,
            .with {
                change(&$0.deliveryVehicle)
                $0.deliveryVehicle.name = "providers/acme/deliveryVehicles/\(id)"
                $0.updateMask.paths = mask
            },
            token: token
        )
    }

    /// Gives a vehicle stops, one north of the other, each with these tasks.
    @discardableResult
    func plan(
        _ id: String, _ stops: [[String]], state: VehicleStop.State = .new, token: String = deliveryToken
    ) async throws -> DeliveryVehicle {
        try await self.updateVehicle(id, ["remaining_vehicle_journey_segments"], token: token) { vehicle in
            vehicle.remainingVehicleJourneySegments = stops.enumerated().map { index, tasks in
                .stop(37.43 + Double(index) * 0.01, -122.07, tasks, state: index == 0 ? state : .new)
            }
        }
    }

    func deleteVehicle(_ id: String) async throws {
        _ = try await self.engine.perform(
            DeleteDeliveryVehicle.self, .with { $0.name = "providers/acme/deliveryVehicles/\(id)" },
            token: deliveryToken)
    }
}

extension DeliveryVehicleLocation {
    static func deliveryAt(_ latitude: Double, _ longitude: Double) -> Self {
        .with { $0.location = .at(latitude, longitude) }
    }
}

extension VehicleJourneySegment {
    /// A stop in a request.
    static func stop(
        _ latitude: Double, _ longitude: Double, _ tasks: [String], state: VehicleStop.State = .new
    ) -> Self {
        .with {
            $0.stop.plannedLocation.point = .at(latitude, longitude)
            $0.stop.state = state
            $0.stop.tasks = tasks.map { task in .with { $0.taskID = task } }
        }
    }
}

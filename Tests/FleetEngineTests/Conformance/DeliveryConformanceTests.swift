// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import SwiftProtobuf
import Testing

@testable import FleetEngine

/// What any adapter over any store must answer a scheduled-tasks backend.
@Suite(.timeLimit(.minutes(10))) struct DeliveryConformanceTests {
    private static let parent = "providers/acme"
    private static let vehicle = "providers/acme/deliveryVehicles/dv-1"

    private static func update(_ mask: [String], _ change: (inout DeliveryVehicle) -> Void) -> WireCall {
        .updateDeliveryVehicle(
            .with {
                change(&$0.deliveryVehicle)
                $0.deliveryVehicle.name = Self.vehicle
                $0.updateMask.paths = mask
            })
    }

    @Test(arguments: WireSetup.all)
    func `a delivery goes from creation to its end`(setup: WireSetup) async throws {
        try await setup.withClient { client in
            let created: DeliveryVehicle = try await client.call(
                .createDeliveryVehicle(
                    .with {
                        $0.parent = Self.parent
                        $0.deliveryVehicleID = "dv-1"
                    }), token: deliveryToken)
            #expect(created.name == Self.vehicle)
            #expect(created.type == .auto)
            let _: DeliveryTask = try await client.call(
                .createTask(DeliveryWorld.creation(of: "task-1")), token: deliveryToken)
            let located: DeliveryVehicle = try await client.call(
                Self.update(["lastLocation", "currentRouteSegment", "remainingDuration"]) {
                    $0.lastLocation.rawLocation = .at(37.42, -122.07)
                    $0.currentRouteSegment = Data([0, 255])
                    $0.remainingDuration.seconds = 90
                }, token: "delivery_untrusted_driver|deliveryvehicleid=dv-1")
            #expect(located.currentRouteSegment == Data([0, 255]))
            #expect(located.remainingDuration.seconds == 90)
            let planned: DeliveryVehicle = try await client.call(
                Self.update(["remainingVehicleJourneySegments"]) {
                    $0.remainingVehicleJourneySegments = [.stop(37.43, -122.07, ["task-1"])]
                }, token: deliveryToken)
            #expect(planned.remainingVehicleJourneySegments[0].stop.tasks[0].taskDuration.seconds == 3600)
            let info: TaskTrackingInfo = try await client.call(
                .getTaskTrackingInfo(.with { $0.name = "\(Self.parent)/taskTrackingInfo/shp-1" }),
                token: "delivery_consumer|trackingid=shp-1")
            #expect(info.remainingStopCount.value == 1)
            #expect(info.hasEstimatedArrivalTime)
            let done: DeliveryTask = try await client.call(
                .updateTask(
                    .with {
                        $0.task.name = "\(Self.parent)/tasks/task-1"
                        $0.task.taskOutcome = .succeeded
                        $0.updateMask.paths = ["taskOutcome"]
                    }), token: deliveryToken)
            #expect(done.taskOutcomeLocation.point == .at(37.42, -122.07))
            let deletion = WireCall.deleteDeliveryVehicle(.with { $0.name = Self.vehicle })
            let failure = try await client.failure(of: deletion, authorization: "Bearer \(deliveryToken)")
            #expect(failure?.reason == "DELIVERY_VEHICLE_HAS_TASKS")
            let _: DeliveryVehicle = try await client.call(
                Self.update(["remainingVehicleJourneySegments"]) { _ in }, token: deliveryToken)
            let _: Google_Protobuf_Empty = try await client.call(deletion, token: deliveryToken)
        }
    }

    /// Masks that JSON cannot spell, as gRPC has them; REST joins their paths by commas.
    private static let masks = [
        ["*"], ["state", ""], ["", "state"], [" state"], ["attributes[0]"], ["attributes.*"], ["state_"],
        ["stat\u{E9}"], ["TaskOutcome"],
    ]

    /// Masks of a delivery vehicle that its driver may not change; one names no field.
    private static let masksOfDriver = [
        ["remainingVehicleJourneySegments"], ["RemainingVehicleJourneySegments"], ["last_location", "Type.x"],
    ]

    private static func refusalsOfMasks(over adapter: WireSetup.Adapter) async throws -> [WireFailure?] {
        try await WireSetup(adapter: adapter, store: .memory).withClient { client in
            var failures: [WireFailure?] = []
            for mask in Self.masks {
                let update = UpdateTask.Request.with {
                    $0.task.name = "\(Self.parent)/tasks/task-1"
                    $0.updateMask.paths = mask
                }
                for token in [deliveryToken, "delivery_consumer|trackingid=shp-1"] {
                    failures.append(
                        try await client.failure(of: .updateTask(update), authorization: "Bearer \(token)"))
                }
            }
            for mask in Self.masksOfDriver {
                let driver = "Bearer delivery_untrusted_driver|deliveryvehicleid=dv-1"
                failures.append(try await client.failure(of: Self.update(mask) { _ in }, authorization: driver))
            }
            return failures
        }
    }

    @Test func `both adapters refuse a mask alike, whatever its paths and whoever asks`() async throws {
        let failures = try await Self.refusalsOfMasks(over: .grpc)
        let expected = Self.masks.flatMap { _ in ["INVALID_ARGUMENT", "PERMISSION_DENIED"] }
        #expect(failures.compactMap { $0?.status } == expected + Self.masksOfDriver.map { _ in "PERMISSION_DENIED" })
        for (mask, failure) in zip(Self.masksOfDriver, failures.suffix(Self.masksOfDriver.count)) {
            #expect(failure?.message.contains("with \"\(mask.last ?? "")\"") == true)
        }
        #expect(try await Self.refusalsOfMasks(over: .rest) == failures)
    }

    @Test(arguments: WireSetup.all)
    func `a batch of tasks may be longer than other requests`(setup: WireSetup) async throws {
        let text = String(repeating: "x", count: 240)
        let request = BatchCreateTasks.Request.with {
            $0.parent = Self.parent
            $0.requests = (1...500).map { number in
                DeliveryWorld.creation(of: "task-\(number)") { task in
                    task.attributes = (1...10).map { key in
                        .with {
                            $0.key = "key-\(key)"
                            $0.stringValue = text
                        }
                    }
                }
            }
        }
        #expect(try (request.serializedBytes() as [UInt8]).count > EngineGRPCServer.maximumRequestBytes)
        try await setup.withClient { client in
            let batch: BatchCreateTasks.Response = try await client.call(
                .batchCreateTasks(request), token: "delivery_server|taskids=*")
            #expect(batch.tasks.count == 500)
            #expect(batch.tasks.allSatisfy { $0.attributes.count == 10 })
        }
    }

    @Test(arguments: WireSetup.all)
    func `a vehicle is taken back with the ways of all its stops`(setup: WireSetup) async throws {
        let segments = (0..<500).map { number in
            VehicleJourneySegment.with {
                $0.stop.plannedLocation.point = .at(50 + Double(number) / 64, 8)
                $0.stop.state = .new
                $0.drivingDistanceMeters.value = 500
                $0.drivingDuration.seconds = 60
                $0.path = (0..<32).map { .at(50 + Double($0) / 32, 8 + Double(number) / 64) }
            }
        }
        try await setup.withClient { client in
            let _: DeliveryVehicle = try await client.call(
                .createDeliveryVehicle(
                    .with {
                        $0.parent = Self.parent
                        $0.deliveryVehicleID = "dv-1"
                    }), token: deliveryToken)
            let updated: DeliveryVehicle = try await client.call(
                Self.update(["attributes"]) {
                    $0.remainingVehicleJourneySegments = segments
                    $0.attributes = [.with { $0.key = "doors" }]
                }, token: deliveryToken)
            #expect(updated.attributes.map(\.key) == ["doors"])
        }
    }

    @Test(arguments: WireSetup.all)
    func `a batch is listed page by page`(setup: WireSetup) async throws {
        try await setup.withClient { client in
            let batch: BatchCreateTasks.Response = try await client.call(
                .batchCreateTasks(
                    .with {
                        $0.parent = Self.parent
                        $0.requests = (1...5).map {
                            DeliveryWorld.creation(of: "task-\($0)", tracking: "shp \($0 % 2)")
                        }
                    }), token: "delivery_server|taskids=*")
            #expect(batch.tasks.count == 5)
            var seen: [Character?] = []
            var token = ""
            repeat {
                let page: ListTasks.Response = try await client.call(
                    .listTasks(
                        .with { [token] in
                            $0.parent = Self.parent
                            $0.pageSize = 2
                            $0.pageToken = token
                            $0.filter = "tracking_id = \"shp 1\" AND state = OPEN"
                        }), token: deliveryToken)
                #expect(page.totalSize == 3)
                seen += page.tasks.map(\.name.last)
                token = page.nextPageToken
            } while !token.isEmpty
            #expect(seen == ["1", "3", "5"])
        }
    }
}

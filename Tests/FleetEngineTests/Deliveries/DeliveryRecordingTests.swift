// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import SwiftProtobuf
import Testing

@testable import FleetEngine

/// Replays a recorded day of one delivery vehicle: what the real service accepted, the engine accepts.
@Suite struct DeliveryRecordingTests {
    private static let name = "lmfs.json"
    private static let provider = "providers/acme"

    /// What a response tells of stops and outcomes, in a form that can be compared.
    private struct Told: Hashable {
        var stops: [[String]] = []
        var states: [String] = []
        var meters: Int?
        var outcome: String?
        var taskState: String?
        var point: [Double] = []
    }

    @Test(.enabled(if: RecordedExchange.exists(name), "The recordings are not at hand."))
    func `a recorded day of deliveries is accepted, and stops, states and outcomes are as they were`() async throws {
        let exchanges = try Self.entries()
        #expect(exchanges.count == 669)
        let world = DeliveryWorld()
        try await world.createVehicle("sample-vehicle-id") { _ in }
        var isFirst = true
        for exchange in exchanges {
            let request = exchange["request"] as? [String: Any] ?? [:]
            let response = exchange["response"] as? [String: Any] ?? [:]
            world.clock.set(try Self.date(exchange))
            #expect(exchange["errorresponse"] is NSNull || exchange["errorresponse"] == nil)
            let mask = (request["updatemask"] as? String ?? "").split(separator: ",").map(String.init)
            if let id = request["taskid"] as? String {
                let body = try Self.task(request["task"])
                let ours =
                    mask.isEmpty
                    ? try await world.createTask(id) { $0 = body }
                    : try await world.updateTask(id, mask) { $0 = body }
                #expect(Self.told(ours) == Self.told(task: response), "\(id) \(mask)")
            } else {
                if isFirst {
                    isFirst = false
                    try await Self.presume(response, world)
                }
                let body = try Self.vehicle(request["deliveryvehicle"], mask)
                let token =
                    mask == ["remainingVehicleJourneySegments"]
                    ? deliveryToken : "delivery_untrusted_driver|deliveryvehicleid=sample-vehicle-id"
                let ours = try await world.updateVehicle("sample-vehicle-id", mask, token: token) { $0 = body }
                #expect(Self.told(ours) == Self.told(vehicle: response), "\(mask) at \(world.clock.now)")
            }
        }
    }

    /// Gives the vehicle the stops and the route that it must have had when the recording began.
    private static func presume(_ response: [String: Any], _ world: DeliveryWorld) async throws {
        let mask = ["remainingVehicleJourneySegments", "currentRouteSegment", "remainingDistanceMeters"]
        let body = try Self.vehicle(response, mask)
        try await world.updateVehicle("sample-vehicle-id", mask) { $0 = body }
    }

    // MARK: - Reading the log, whose keys are in lower case

    private static func entries() throws -> [[String: Any]] {
        let data = try Data(contentsOf: RecordedExchange.folder.appending(path: Self.name))
        let object = try JSONSerialization.jsonObject(with: data) as? [String: Any]
        let logs = object?["rawLogs"] as? [[String: Any]] ?? []
        return logs.compactMap { log -> [String: Any]? in
            let log = Dictionary(log.map { ($0.key.lowercased(), $0.value) }) { first, _ in first }
            var payload = log["jsonpayload"] as? [String: Any]
            payload?["timestamp"] = log["timestamp"]
            return payload
        }.sorted { ($0["timestamp"] as? String ?? "") < ($1["timestamp"] as? String ?? "") }
    }

    private static func date(_ exchange: [String: Any]) throws -> Date {
        try Google_Protobuf_Timestamp(jsonString: "\"\(exchange["timestamp"] as? String ?? "")\"").date
    }

    private static func duration(_ value: Any?) throws -> Google_Protobuf_Duration? {
        try (value as? String).map { try Google_Protobuf_Duration(jsonString: "\"\($0)\"") }
    }

    private static func point(_ value: Any?) -> LatLng? {
        guard let value = value as? [String: Any], let latitude = value["latitude"] as? Double,
            let longitude = value["longitude"] as? Double
        else { return nil }
        return .at(latitude, longitude)
    }

    private static func stops(_ vehicle: [String: Any]) -> [[String: Any]] {
        (vehicle["remainingvehiclejourneysegments"] as? [[String: Any]] ?? []).map {
            $0["stop"] as? [String: Any] ?? [:]
        }
    }

    private static func state(_ stop: [String: Any]) -> String {
        String((stop["state"] as? String ?? "").split(separator: "_").last ?? "")
    }

    private static func tasks(_ stop: [String: Any]) -> [String] {
        (stop["tasks"] as? [[String: Any]] ?? []).compactMap { $0["taskid"] as? String }
    }

    private static func vehicle(_ value: Any?, _ mask: [String]) throws -> DeliveryVehicle {
        let value = value as? [String: Any] ?? [:]
        return try .with { vehicle in
            if let location = value["lastlocation"] as? [String: Any], let raw = Self.point(location["rawlocation"]) {
                vehicle.lastLocation.rawLocation = raw
                vehicle.lastLocation.locationSensor = .roadSnappedLocationProvider
            }
            // The log has handles in place of routes.
            if mask.contains("currentRouteSegment") {
                vehicle.currentRouteSegment = Data((value["currentroutesegmenthandle"] as? String ?? "").utf8)
            }
            if let duration = try Self.duration(value["remainingduration"]) { vehicle.remainingDuration = duration }
            if let meters = value["remainingdistancemeters"] as? Int {
                vehicle.remainingDistanceMeters = Google_Protobuf_Int32Value(Int32(meters))
            }
            let states: [String: VehicleStop.State] = ["NEW": .new, "ENROUTE": .enroute, "ARRIVED": .arrived]
            vehicle.remainingVehicleJourneySegments = Self.stops(value).map { stop in
                let place = Self.point((stop["plannedlocation"] as? [String: Any])?["point"]) ?? LatLng()
                return .stop(
                    place.latitude, place.longitude, Self.tasks(stop), state: states[Self.state(stop)] ?? .unspecified)
            }
        }
    }

    private static func task(_ value: Any?) throws -> DeliveryTask {
        let value = value as? [String: Any] ?? [:]
        return try .with { task in
            task.type = .delivery
            task.state = .open
            task.trackingID = value["trackingid"] as? String ?? ""
            if let duration = try Self.duration(value["taskduration"]) { task.taskDuration = duration }
            if let place = Self.point((value["plannedlocation"] as? [String: Any])?["point"]) {
                task.plannedLocation.point = place
            }
            let outcome = value["taskoutcome"] as? String ?? ""
            task.taskOutcome =
                outcome.hasSuffix("SUCCEEDED") ? .succeeded : outcome.hasSuffix("FAILED") ? .failed : .unspecified
            if let time = value["taskoutcometime"] as? String {
                task.taskOutcomeTime = try Google_Protobuf_Timestamp(jsonString: "\"\(time)\"")
            }
        }
    }

    // MARK: - What is told

    private static func told(_ vehicle: DeliveryVehicle) -> Told {
        let stops = vehicle.remainingVehicleJourneySegments.map(\.stop)
        let words: [VehicleStop.State: String] = [.new: "NEW", .enroute: "ENROUTE", .arrived: "ARRIVED"]
        return Told(
            stops: stops.map { $0.tasks.map(\.taskID) }, states: stops.map { words[$0.state] ?? "" },
            meters: vehicle.hasRemainingDistanceMeters ? Int(vehicle.remainingDistanceMeters.value) : nil
        )
    }

    private static func told(vehicle: [String: Any]) -> Told {
        let stops = Self.stops(vehicle)
        return Told(
            stops: stops.map(Self.tasks), states: stops.map(Self.state),
            meters: vehicle["remainingdistancemeters"] as? Int
        )
    }

    private static func told(_ task: DeliveryTask) -> Told {
        let place = task.taskOutcomeLocation
        return Told(
            outcome: task.taskOutcome == .succeeded ? "SUCCEEDED" : task.taskOutcome == .failed ? "FAILED" : nil,
            taskState: task.state == .open ? "OPEN" : "CLOSED",
            point: place.hasPoint ? [place.point.latitude, place.point.longitude] : []
        )
    }

    private static func told(task: [String: Any]) -> Told {
        let outcome = task["taskoutcome"] as? String
        let place = Self.point((task["taskoutcomelocation"] as? [String: Any])?["point"])
        return Told(
            outcome: outcome.flatMap { $0.split(separator: "_").last }.map(String.init),
            taskState: (task["state"] as? String).flatMap { $0.split(separator: "_").last }.map(String.init),
            point: place.map { [$0.latitude, $0.longitude] } ?? []
        )
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct PathLimitTests {
    /// Knows a way of so many points for every leg.
    private struct Roads: RoadRouter {
        let points: [LatLng]

        init(points: Int) { self.points = (0..<points).map { .at(50 + Double($0) / 1e5, 8) } }

        func known(_ leg: RouteLeg) -> KnownRoad? {
            let path = [leg.start] + self.points.dropFirst().dropLast() + [leg.end]
            return .way(RouteEstimate(meters: 500_000, duration: .seconds(20_000), path: path))
        }

        func learn(_ legs: [RouteLeg]) async -> Bool { false }

        func prepare(_ legs: [RouteLeg]) {}
    }

    private static func bytes(_ answer: some Message) throws -> Int { try (answer.serializedBytes() as [UInt8]).count }

    @Test func `an answer about a delivery vehicle's way is no longer than clients of gRPC take`() async throws {
        let world = DeliveryWorld(router: Roads(points: 15_000))
        try await world.createVehicle("dv-1")
        let ids = (1...20).map { "task-\($0)" }
        for id in ids {
            try await world.createTask(id, tracking: id) {
                $0.taskTrackingViewConfig.routePolylinePointsVisibility.always = true
            }
        }
        try await world.plan("dv-1", ids.map { [$0] })
        let reported = try await world.updateVehicle("dv-1", ["last_location"]) {
            $0.lastLocation = .deliveryAt(37.421, -122.07)
        }
        let read = try await world.vehicle("dv-1")
        let info = try await world.tracking("task-20")
        let done = try await world.updateTask("task-20", ["task_outcome"]) { $0.taskOutcome = .succeeded }
        for count in try [Self.bytes(reported), Self.bytes(read), Self.bytes(info), Self.bytes(done)] {
            #expect((1_900_000..<Paging.maximumBytes).contains(count))
        }
        for segments in [
            reported.remainingVehicleJourneySegments, read.remainingVehicleJourneySegments,
            done.journeySharingInfo.remainingVehicleJourneySegments,
        ] {
            var start = LatLng.at(37.421, -122.07)
            for segment in segments {
                #expect(segment.path.count == 5000)
                #expect(segment.path.first == start)
                #expect(segment.path.last == segment.stop.plannedLocation.point)
                start = segment.stop.plannedLocation.point
            }
            #expect(segments.count == 20)
        }
        #expect(info.routePolylinePoints.first == .at(37.421, -122.07))
        #expect(info.routePolylinePoints.last == read.remainingVehicleJourneySegments.last?.path.last)
        // What is not shown takes nothing away from what is.
        let next = try await world.updateTask("task-2", ["task_outcome"]) { $0.taskOutcome = .succeeded }
        #expect(next.journeySharingInfo.remainingVehicleJourneySegments.map(\.path.count) == [15_000, 15_000])
    }

    @Test func `the line of a trip is no longer than clients of gRPC take, and has its ends`() async throws {
        let fixture = EngineFixture(router: Roads(points: 250_000))
        try await fixture.createVehicle("veh-1")
        try await fixture.createTrip("trip-1", .with(.sample) { $0.vehicleID = "veh-1" })
        let trip = try await fixture.trip("trip-1")
        #expect(trip.route.count == PathLimit.maximumPoints)
        #expect(trip.route.first == Vehicle.sample.lastLocation.location)
        #expect(trip.route.last == trip.remainingWaypoints.first?.location.point)
        #expect(try Self.bytes(trip) < Paging.maximumBytes)
    }

    @Test func `a line that is thinned has points all along, and one that is short all of its own`() {
        let line = (0..<120_000).map { LatLng.at(Double($0) / 2000, 0) }
        let thin = PathLimit.thinned(line, of: line.count * 6)
        #expect(thin.count == 100_000 / 6)
        #expect(thin.first == line.first && thin.last == line.last)
        let steps = zip(thin, thin.dropFirst()).map { (($1.latitude - $0.latitude) * 2000).rounded() }
        #expect(steps.allSatisfy { $0 == 7 || $0 == 8 })
        #expect(PathLimit.thinned(Array(line.prefix(100_000)), of: 100_000).count == 100_000)
        #expect(PathLimit.thinned(Array(line.prefix(2)), of: 1_000_000_000) == Array(line.prefix(2)))
        #expect(PathLimit.thinned(line, of: 1_000_000_000_000) == [line[0], line[119_999]])
    }
}

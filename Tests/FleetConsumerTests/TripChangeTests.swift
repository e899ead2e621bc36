// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetConsumer
import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct TripChangeTests {
    private static let assigned = """
        {"name":"providers/acme/trips/trip-7","vehicleId":"veh-3","tripStatus":"ENROUTE_TO_PICKUP","tripType":"EXCLUSIVE",
        "pickupPoint":{"point":{"latitude":37.5,"longitude":-122}},"pickupTime":"2025-02-05T17:03:25Z",
        "dropoffPoint":{"point":{"latitude":37.9}},"intermediateDestinations":[{"point":{"latitude":37.7}}],
        "currentRouteSegmentTraffic":{"encodedPathToWaypoint":"xyz","speedReadingInterval":[
        {"endPolylinePointIndex":3,"speed":"SLOW"},
        {"startPolylinePointIndex":9,"endPolylinePointIndex":4,"speed":"SLOW"},
        {"startPolylinePointIndex":-1,"endPolylinePointIndex":4,"speed":"SLOW"}]},
        "currentRouteSegmentTrafficVersion":"t1",
        "lastLocation":{"location":{"latitude":37.1,"longitude":-122.1},"heading":90,"speed":4.5,
        "updateTime":"2025-02-05T17:02:32.5Z","serverTime":"2025-02-05T17:02:33Z"},
        "etaToFirstWaypoint":"2025-02-05T17:03:25.291501Z","remainingDistanceMeters":169,"numberOfPassengers":1,
        "remainingWaypoints":[
        {"location":{"point":{"latitude":37.5,"longitude":-122}},"tripId":"trip-7","waypointType":"PICKUP_WAYPOINT_TYPE",
        "eta":"2025-02-05T17:03:25Z","distanceMeters":169,"pathToWaypoint":[{"latitude":1},{"longitude":2}]},
        {"location":{"point":{"latitude":37.9}},"encodedPathToWaypoint":"abc"}],"remainingWaypointsVersion":"w1",
        "remainingWaypointsRouteVersion":"r1","route":[{"latitude":1,"longitude":2},{}],"currentRouteSegmentVersion":"s1"}
        """

    @Test func `the first answer tells everything`() async throws {
        let world = try TripWorld(engine: StubTransport(trips: Self.assigned))
        let changes = try await world.changesToTheEnd().map(\.summary)
        #expect(
            changes == [
                "vehicle veh-3", "status ENROUTE_TO_PICKUP", "position 37.1", "eta 1738775005",
                "pickup 37.5 1738775005", "dropoff 37.9 -", "between 37.7 0", "distance 169", "stops 37.5,37.9",
                "route 2 -", "traffic SLOW",
                "vehicle -", "status COMPLETE", "position -", "eta -", "pickup - -", "dropoff - -", "between  0",
                "distance -", "stops ", "route 0 -", "traffic -", "ended COMPLETE",
            ])
    }

    @Test func `the snapshot holds what the engine said`() async throws {
        let (held, _) = AsyncStream.makeStream(of: Void.self)
        let world = try TripWorld(
            engine: StubTransport { _, index in
                if index > 0 { for await _ in held {} }
                return .json(Self.assigned)
            })
        #expect(await world.model.snapshot == nil)
        let model = world.model
        let changes = await model.changes()
        let run = Task { try await model.run() }
        _ = await changes.first { _ in true }
        let snapshot = try #require(await model.snapshot)
        run.cancel()
        #expect(snapshot.trip == world.trip)
        #expect(snapshot.vehicle?.value == "veh-3" && snapshot.status == .enrouteToPickup)
        #expect(snapshot.remainingDistanceMeters == 169)
        #expect(snapshot.pickupPoint == GeoPoint(latitude: 37.5, longitude: -122))
        #expect(snapshot.dropoffPoint == GeoPoint(latitude: 37.9, longitude: 0))
        #expect(snapshot.type == "EXCLUSIVE" && snapshot.numberOfPassengers == 1)
        // The second part of the traffic ends before it begins, and the third begins before the way does.
        #expect(snapshot.traffic == RouteTraffic(stretches: [.init(points: 0...3, speed: "SLOW")], encodedPath: "xyz"))
        #expect(
            snapshot.vehiclePosition
                == VehiclePosition(
                    point: GeoPoint(latitude: 37.1, longitude: -122.1), heading: 90, speed: 4.5,
                    deviceTime: Date(timeIntervalSince1970: 1_738_774_952.5),
                    serverTime: Date(timeIntervalSince1970: 1_738_774_953)))
        let stop = try #require(snapshot.remainingWaypoints.first)
        #expect(stop.trip == world.trip && stop.type == "PICKUP_WAYPOINT_TYPE" && stop.distanceMeters == 169)
        #expect(stop.eta == Date(timeIntervalSince1970: 1_738_775_005))
        #expect(stop.path == [GeoPoint(latitude: 1, longitude: 0), GeoPoint(latitude: 0, longitude: 2)])
        #expect(snapshot.remainingWaypoints.last?.encodedPath == "abc")
    }

    @Test func `a snapshot equals one that an app makes, whatever versions came with it`() async throws {
        let answer = """
            {"name":"providers/acme/trips/trip-7","vehicleId":"veh-3","tripStatus":"COMPLETE",
            "currentRouteSegmentVersion":"s1"}
            """
        let world = try TripWorld(engine: StubTransport([.json(answer)]))
        try await world.model.run()
        let expected = TripSnapshot(trip: world.trip, status: .complete, vehicle: try VehicleID(checking: "veh-3"))
        #expect(await world.model.snapshot == expected)
    }

    @Test func `only what became different is told`() async throws {
        let moved = Self.assigned.replacingOccurrences(of: "37.1", with: "37.2")
        let later = moved.replacingOccurrences(of: "17:03:25.291501Z", with: "17:04:25Z")
        let world = try TripWorld(engine: StubTransport(trips: Self.assigned, Self.assigned, moved, later))
        let changes = try await world.changesToTheEnd().map(\.summary)
        #expect(changes[11..<13] == ["position 37.2", "eta 1738775065"])
        #expect(changes.count == 11 + 2 + 12)
    }

    @Test(arguments: [
        (#""pickupTime":"2025-02-05T17:03:25Z""#, #""pickupTime":"2025-02-05T17:04:25Z""#, "pickup 37.5 1738775065"),
        (#""dropoffPoint""#, #""dropoffTime":"2025-02-05T17:04:25Z","dropoffPoint""#, "dropoff 37.9 1738775065"),
        (
            #""intermediateDestinations""#, #""intermediateDestinationIndex":1,"intermediateDestinations""#,
            "between 37.7 1"
        ),
        (#""route""#, #""currentRouteSegment":"abc","route""#, "route 2 abc"),
        (
            #""latitude":37.5,"longitude":-122}},"pickupTime""#, #""latitude":37.4}},"pickupTime""#,
            "pickup 37.4 1738775005"
        ),
    ])
    func `one part of what is told together is enough to tell it`(
        part: String, other: String, told: String
    ) async throws {
        let changed = Self.assigned.replacingOccurrences(of: part, with: other)
        #expect(changed != Self.assigned)
        let world = try TripWorld(engine: StubTransport(trips: Self.assigned, changed))
        #expect(try await world.changesToTheEnd().map(\.summary)[11..<13] == [told, "vehicle -"])
    }

    @Test func `what the engine leaves out as unchanged is kept`() async throws {
        let short = """
            {"vehicleId":"veh-3","tripStatus":"ENROUTE_TO_PICKUP","lastLocation":{"location":{"latitude":37.1,
            "longitude":-122.1},"heading":90,"speed":4.5,"updateTime":"2025-02-05T17:02:32.5Z",
            "serverTime":"2025-02-05T17:02:33Z"},"etaToFirstWaypoint":"2025-02-05T17:03:25.291501Z",
            "pickupPoint":{"point":{"latitude":37.5,"longitude":-122}},"pickupTime":"2025-02-05T17:03:25Z",
            "dropoffPoint":{"point":{"latitude":37.9}},"intermediateDestinations":[{"point":{"latitude":37.7}}],
            "remainingDistanceMeters":169}
            """
        let echoed = short.replacingOccurrences(
            of: "{\"vehicleId\"",
            with: #"{"remainingWaypointsVersion":"w1","currentRouteSegmentVersion":"s1","vehicleId""#)
        let world = try TripWorld(engine: StubTransport(trips: Self.assigned, short, echoed))
        let changes = try await world.changesToTheEnd().map(\.summary)
        #expect(
            changes.dropFirst(11) == [
                "vehicle -", "status COMPLETE", "position -", "eta -", "pickup - -", "dropoff - -", "between  0",
                "distance -", "stops ", "route 0 -", "traffic -", "ended COMPLETE",
            ])
    }

    @Test func `the way to a stop is kept while its version stays`() async throws {
        let pathless = Self.assigned.replacingOccurrences(
            of: ",\"pathToWaypoint\":[{\"latitude\":1},{\"longitude\":2}]", with: ""
        ).replacingOccurrences(of: ",\"encodedPathToWaypoint\":\"abc\"", with: "")
        let newer = pathless.replacingOccurrences(of: "\"r1\"", with: "\"r2\"")
        #expect(pathless != Self.assigned)
        let etaLater = pathless.replacingOccurrences(of: "17:03:25.291501Z", with: "17:04:25Z")
        let world = try TripWorld(engine: StubTransport(trips: Self.assigned, etaLater, newer))
        let changes = try await world.changesToTheEnd()
        #expect(changes[11].summary == "eta 1738775065")
        #expect(changes[12].summary == "eta 1738775005")
        guard case .remainingWaypoints(let stops) = changes[13] else {
            Issue.record("The stops did not change.")
            return
        }
        #expect(stops.allSatisfy { $0.path.isEmpty && $0.encodedPath == nil })
    }

    @Test func `the way to a stop is kept for that very stop only`() async throws {
        func answer(_ point: String, _ trip: String, _ type: String, _ path: String) -> String {
            """
            {"vehicleId":"veh-3","tripStatus":"ENROUTE_TO_PICKUP","remainingWaypointsRouteVersion":"r1",
            "remainingWaypoints":[{"location":{"point":{"latitude":\(point)}},"tripId":"\(trip)",
            "waypointType":"\(type)"\(path)}]}
            """
        }
        func paths(after next: String) async throws -> String?? {
            let known = answer("1", "t", "PICKUP", #","encodedPathToWaypoint":"abc""#)
            let world = try TripWorld(engine: StubTransport(trips: known, next))
            for change in try await world.changesToTheEnd().reversed() {
                guard case .remainingWaypoints(let stops) = change, let stop = stops.first else { continue }
                return .some(stop.encodedPath)
            }
            return nil
        }
        #expect(try await paths(after: answer("1", "t", "PICKUP", #","eta":"2025-02-05T17:03:25Z""#)) == "abc")
        for other in [answer("2", "t", "PICKUP", ""), answer("1", "u", "PICKUP", ""), answer("1", "t", "DROP_OFF", "")]
        {
            #expect(try await paths(after: other) == .some(nil))
        }
    }

    @Test func `the traffic that comes with a stop goes before the one that was known`() async throws {
        func answer(_ rest: String) -> String {
            """
            {"vehicleId":"veh-3","tripStatus":"ENROUTE_TO_PICKUP","remainingWaypointsRouteVersion":"r1",
            "remainingWaypoints":[{"location":{"point":{}},\(rest)}]}
            """
        }
        func traffic(_ speed: String) -> String {
            #""trafficToWaypoint":{"speedReadingInterval":[{"endPolylinePointIndex":1,"speed":"\#(speed)"}]}"#
        }
        let known = answer(traffic("SLOW") + #","encodedPathToWaypoint":"abc""#)
        let world = try TripWorld(
            engine: StubTransport(trips: known, answer(traffic("NORMAL")), answer(#""distanceMeters":7"#)))
        let stops = try await world.changesToTheEnd().compactMap { change -> TripWaypoint? in
            if case .remainingWaypoints(let stops) = change { stops.first } else { nil }
        }
        #expect(stops.map { $0.traffic?.stretches.first?.speed } == ["SLOW", "NORMAL", "NORMAL"])
        #expect(stops.allSatisfy { $0.encodedPath == "abc" })
    }

    @Test(arguments: [#""route":[{"latitude":5}]"#, #""currentRouteSegment":"new""#])
    func `a way that the answer brings goes before the one that was known`(way: String) async throws {
        let other = Self.assigned.replacingOccurrences(of: #""route":[{"latitude":1,"longitude":2},{}]"#, with: way)
        #expect(other != Self.assigned)
        let world = try TripWorld(engine: StubTransport(trips: Self.assigned, other))
        let changes = try await world.changesToTheEnd().map(\.summary)
        #expect(changes[11] == (way.contains("new") ? "route 0 new" : "route 1 -"))
    }

    @Test(arguments: ["", #","vehicleId":"veh-3""#])
    func `nothing is kept past the trip's end, nor of a trip without a vehicle`(vehicle: String) async throws {
        let (known, last) = (
            #"{"tripStatus":"NEW","remainingWaypointsVersion":"w1","remainingWaypoints":[{"location":{"point":{}}}]"#,
            vehicle.isEmpty ? "NEW" : "COMPLETE"
        )
        let world = try TripWorld(
            engine: StubTransport(
                trips: known + vehicle + "}", #"{"tripStatus":"\#(last)","remainingWaypointsVersion":"w1"\#(vehicle)}"#)
        )
        let changes = try await world.changesToTheEnd().map(\.summary)
        let end = ["ended COMPLETE"]
        #expect(
            changes
                == (vehicle.isEmpty
                    ? ["status NEW", "stops 0.0", "stops ", "status COMPLETE"] + end
                    : ["vehicle veh-3", "status NEW", "stops 0.0", "status COMPLETE", "stops "] + end))
    }

    @Test func `a newer version without stops means that none are left`() async throws {
        let arrived = #"{"vehicleId":"veh-3","tripStatus":"ENROUTE_TO_PICKUP","remainingWaypointsVersion":"w2"}"#
        let world = try TripWorld(engine: StubTransport(trips: Self.assigned, arrived))
        let changes = try await world.changesToTheEnd().map(\.summary)
        #expect(
            changes[11..<18] == [
                "position -", "eta -", "pickup - -", "dropoff - -", "between  0", "distance -", "stops ",
            ])
    }

    @Test func `what has no version is gone when it is left out`() async throws {
        let versionless = Self.assigned.replacing(#/,?\s*"\w+Version":"\w+"/#, with: "")
        let arrived = #"{"vehicleId":"veh-3","tripStatus":"ENROUTE_TO_PICKUP"}"#
        #expect(!versionless.contains("Version"))
        let world = try TripWorld(engine: StubTransport(trips: versionless, arrived))
        let changes = try await world.changesToTheEnd().map(\.summary)
        #expect(changes[17..<20] == ["stops ", "route 0 -", "traffic -"])
    }

    @Test func `without stops there is no way, though its version stays`() async throws {
        let arrived = #"""
            {"vehicleId":"veh-3","tripStatus":"ENROUTE_TO_PICKUP","remainingWaypointsVersion":"w2",
            "currentRouteSegmentVersion":"s1"}
            """#
        let world = try TripWorld(engine: StubTransport(trips: Self.assigned, arrived))
        let changes = try await world.changesToTheEnd().map(\.summary)
        #expect(changes[17..<19] == ["stops ", "route 0 -"])
    }

    @Test func `nothing is kept for another vehicle`() async throws {
        let other = #"{"vehicleId":"veh-4","tripStatus":"ENROUTE_TO_PICKUP"}"#
        let world = try TripWorld(engine: StubTransport(trips: Self.assigned, other))
        let changes = try await world.changesToTheEnd().map(\.summary)
        #expect(
            changes[11..<21] == [
                "vehicle veh-4", "position -", "eta -", "pickup - -", "dropoff - -", "between  0", "distance -",
                "stops ",
                "route 0 -", "traffic -",
            ])
        #expect(world.engine.requests.last?.query == [:])
    }

    @Test(arguments: ["COMPLETE", "CANCELED"])
    func `polling stops when the trip is over`(status: String) async throws {
        let world = try TripWorld(engine: StubTransport([.json("{\"tripStatus\":\"\(status)\"}")]))
        try await world.model.run()
        var changes: [String] = []
        for await change in await world.model.changes() { changes.append(change.summary) }
        #expect(changes == ["status \(status)", "ended \(status)"])
        #expect(world.engine.requests.count == 1)
        #expect(await world.model.snapshot?.status.isFinal == true)
    }

    @Test func `a status that is not known yet is passed on`() async throws {
        let world = try TripWorld(engine: StubTransport(trips: #"{"tripStatus":"WAITING_FOR_FERRY"}"#))
        #expect(try await world.changesToTheEnd().first?.summary == "status WAITING_FOR_FERRY")
    }

    @Test func `a failure tells code and reason, and polling goes on from the old snapshot`() async throws {
        let refusal = #"{"status":"NOT_FOUND","message":"Gone.","details":[{"reason":"TRIP_PURGED"}]}"#
        let world = try TripWorld(
            engine: StubTransport([.json(Self.assigned), .status(404, refusal), .json(Self.assigned), .complete]))
        let changes = try await world.changesToTheEnd().map(\.summary)
        #expect(changes[11] == "failure NOT_FOUND TRIP_PURGED")
        #expect(changes.count == 11 + 1 + 12)
    }

    @Test(arguments: ["", "[]", "{}", #"{"error":"login"}"#, #"{"name":"trip-7","lastLocation":7}"#])
    func `an answer that is no trip is a failure, and the snapshot stays`(text: String) async throws {
        let world = try TripWorld(
            engine: StubTransport([.json(Self.assigned), .page(text), .json(Self.assigned), .complete]))
        let changes = try await world.changesToTheEnd().map(\.summary)
        #expect(changes[11] == "failure INTERNAL -")
        #expect(changes.count == 11 + 1 + 12)
    }
}

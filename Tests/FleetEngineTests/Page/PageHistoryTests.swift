// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Foundation
import Testing

@testable import FleetEngine

/// What readers of the page are sent.
@Suite struct PageHistoryTests {
    private static func state(_ places: [String: (Double, Double)]) -> PageState {
        var state = PageState()
        for (id, place) in places {
            var vehicle = Vehicle.sample
            vehicle.lastLocation = .at(place.0, place.1)
            state.vehicles[id] = PageVehicle(vehicle, id: id)
        }
        return state
    }

    private static func data(_ event: String) throws -> [String: Any] {
        let line = try #require(event.split(separator: "\n").first { $0.hasPrefix("data: ") })
        return try #require(JSONSerialization.jsonObject(with: Data(line.dropFirst(6).utf8)) as? [String: Any])
    }

    @Test func `a change holds what is new or different and what is gone, and nothing else`() throws {
        var history = PageHistory(run: "a")
        _ = try history.advance(to: Self.state(["v1": (1, 1), "v2": (2, 2), "v3": (3, 3)]), at: TestClock.start)
        let event = try #require(
            try history.advance(to: Self.state(["v1": (1, 1), "v2": (2, 2.5), "v4": (4, 4)]), at: TestClock.start))
        #expect(event.hasPrefix("id: a-2\nevent: change\ndata: {"))
        #expect(event.hasSuffix("}\n\n"))
        let changes = try #require(try Self.data(event)["changes"] as? [String: Any])
        #expect(Set(changes.keys) == ["vehicles"])
        let vehicles = try #require(changes["vehicles"] as? [String: Any])
        #expect((vehicles["put"] as? [String: Any])?.keys.sorted() == ["v2", "v4"])
        #expect(vehicles["drop"] as? [String] == ["v3"])
    }

    @Test func `nothing is sent when nothing changed`() throws {
        var history = PageHistory(run: "a")
        let state = Self.state(["v1": (1, 1)])
        #expect(try history.advance(to: state, at: TestClock.start) != nil)
        #expect(try history.advance(to: state, at: TestClock.start + 1) == nil)
    }

    @Test func `a reader that was away for a moment gets what it missed, and the time`() throws {
        var history = PageHistory(run: "a")
        let events = try (0..<5).map { number in
            try #require(try history.advance(to: Self.state(["v": (0, Double(number) + 1)]), at: TestClock.start))
        }
        let beat = PageHistory.beat(at: TestClock.start + 9)
        #expect(try history.opening(after: "a-2", at: TestClock.start + 9) == Array(events[2...]) + [beat])
        #expect(try history.opening(after: "a-5", at: TestClock.start + 9) == [beat])
        #expect(try history.opening(after: "a-0", at: TestClock.start + 9) == events + [beat])
    }

    @Test(arguments: [nil, "", "a", "b-2", "a-9", "a--1", "a-x", "a-2-3", "a-99999999999999999999"])
    func `any other reader gets the whole state`(lastEventID: String?) throws {
        var history = PageHistory(run: "a")
        for number in 0..<3 {
            _ = try history.advance(to: Self.state(["v": (0, Double(number) + 1)]), at: TestClock.start)
        }
        let opening = try history.opening(after: lastEventID, at: TestClock.start + 9)
        #expect(opening.map(Self.name) == ["part", "snapshot", "trails", "beat"])
        for event in opening {
            #expect(event.contains("data: {\"now\":\((TestClock.start + 9).milliseconds)"))
        }
        // Who goes before the last of it begins anew.
        #expect(opening.map { $0.hasPrefix("id: ") } == [false, false, false, true])
        #expect(opening.last?.hasPrefix("id: a-3\nevent: beat\n") == true)
    }

    @Test func `a large state comes in parts that leave nothing out`() throws {
        var state = Self.state(Dictionary(uniqueKeysWithValues: (1...205).map { ("v\($0)", (1, Double($0) / 10)) }))
        for number in 1...41 {
            let id = "d\(number)"
            var vehicle = DeliveryVehicle()
            vehicle.lastLocation.location = .at(2, Double(number))
            state.deliveryVehicles[id] = PageDeliveryVehicle(vehicle, id: id)
            state.trips[id] = PageTrip(.sample, id: id)
            state.tasks[id] = PageTask(DeliveryTask(), id: id)
        }
        state.truncated = ["vehicle"]
        var history = PageHistory(run: "a")
        _ = try history.advance(to: state, at: TestClock.start)
        let opening = try history.opening(after: nil, at: TestClock.start)
        let names = opening.map(Self.name)
        #expect(names == names.sorted { (Self.order[$0] ?? 0) < (Self.order[$1] ?? 0) })
        #expect(names.count { $0 == "snapshot" } == 1 && names.last == "beat")
        let (vehicles, others) = (state.vehicles.keys.sorted(), state.trips.keys.sorted())
        for (kind, ids) in [("vehicles", vehicles), ("deliveryVehicles", others), ("trips", others), ("tasks", others)]
        {
            #expect(try Self.entries(of: kind, in: "state", of: opening).sorted() == ids)
        }
        for (kind, ids) in [("vehicles", vehicles), ("deliveryVehicles", others)] {
            #expect(try Self.entries(of: kind, in: "trails", of: opening).sorted() == ids)
        }
        let snapshot = try #require(opening.first { Self.name($0) == "snapshot" })
        #expect((try Self.data(snapshot)["state"] as? [String: Any])?["truncated"] as? [String] == ["vehicle"])
        #expect(opening.allSatisfy { $0.utf8.count < 20_000 })
    }

    private static let order = ["part": 0, "snapshot": 1, "trails": 2, "beat": 3]

    /// The ids of one kind that the events of an opening tell of, as often as they do.
    private static func entries(of kind: String, in member: String, of opening: [String]) throws -> [String] {
        try opening.flatMap { event in
            let entries = (try self.data(event)[member] as? [String: Any])?[kind] as? [String: Any]
            return entries.map { Array($0.keys) } ?? []
        }
    }

    private static func name(_ event: String) -> String {
        let line = event.split(separator: "\n").first { $0.hasPrefix("event: ") }
        return line.map { String($0.dropFirst("event: ".count)) } ?? ""
    }

    @Test func `what changed since a state that was the present one is told as one change`() throws {
        var history = PageHistory(run: "a")
        _ = try history.advance(to: Self.state(["v1": (1, 1), "v2": (2, 2)]), at: TestClock.start)
        let known = history.state
        #expect(try history.change(since: known, at: TestClock.start) == nil)
        for number in 0..<100 {
            _ = try history.advance(to: Self.state(["v1": (1, 1), "v3": (3, Double(number))]), at: TestClock.start)
        }
        let event = try #require(try history.change(since: known, at: TestClock.start + 9))
        #expect(event.hasPrefix("id: a-101\nevent: change\ndata: {"))
        let vehicles = try #require((try Self.data(event)["changes"] as? [String: Any])?["vehicles"] as? [String: Any])
        #expect((vehicles["put"] as? [String: Any])?.keys.sorted() == ["v3"])
        #expect(vehicles["drop"] as? [String] == ["v2"])
    }

    @Test func `the changes that are kept are bounded`() throws {
        var history = PageHistory(run: "a")
        for number in 0..<200 {
            _ = try history.advance(to: Self.state(["v": (0, Double(number) + 1)]), at: TestClock.start)
        }
        #expect(try history.opening(after: "a-140", at: TestClock.start).count == 61)
        #expect(try history.opening(after: "a-139", at: TestClock.start).map(Self.name).contains("snapshot"))
    }

    @Test func `a snapshot is followed by trails, which are bounded and end with their vehicle`() throws {
        var history = PageHistory(run: "a")
        for number in 0..<400 {
            // Each place comes twice: standing still makes no trail.
            _ = try history.advance(
                to: Self.state(["v": (0, Double(number / 2) / 10), "w": (0, Double(number))]), at: TestClock.start)
        }
        _ = try history.advance(to: Self.state(["v": (0, 20)]), at: TestClock.start)
        let opening = try history.opening(after: nil, at: TestClock.start)
        let event = try Self.data(try #require(opening.first { Self.name($0) == "trails" }))
        let trails = try #require((event["trails"] as? [String: Any])?["vehicles"] as? [String: [[String: Double]]])
        #expect(trails.keys.sorted() == ["v"])
        #expect(trails["v"]?.count == 150)
        #expect(trails["v"]?.last?["longitude"] == 20)
        #expect(trails["v"]?.first?["longitude"] == 5.1)
    }
}

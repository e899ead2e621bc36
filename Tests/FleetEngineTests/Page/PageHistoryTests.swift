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
        #expect(opening.count == 1)
        #expect(opening.first?.contains("data: {\"now\":\((TestClock.start + 9).milliseconds),") == true)
        #expect(opening.first?.hasPrefix("id: a-3\nevent: snapshot\n") == true)
    }

    @Test func `the changes that are kept are bounded`() throws {
        var history = PageHistory(run: "a")
        for number in 0..<200 {
            _ = try history.advance(to: Self.state(["v": (0, Double(number) + 1)]), at: TestClock.start)
        }
        #expect(try history.opening(after: "a-140", at: TestClock.start).count == 61)
        #expect(try history.opening(after: "a-139", at: TestClock.start).first?.contains("event: snapshot") == true)
    }

    @Test func `a snapshot holds trails, which are bounded and end with their vehicle`() throws {
        var history = PageHistory(run: "a")
        for number in 0..<400 {
            // Each place comes twice: standing still makes no trail.
            _ = try history.advance(
                to: Self.state(["v": (0, Double(number / 2) / 10), "w": (0, Double(number))]), at: TestClock.start)
        }
        _ = try history.advance(to: Self.state(["v": (0, 20)]), at: TestClock.start)
        let snapshot = try Self.data(try #require(try history.opening(after: nil, at: TestClock.start).first))
        let trails = try #require((snapshot["trails"] as? [String: Any])?["vehicles"] as? [String: [[String: Double]]])
        #expect(trails.keys.sorted() == ["v"])
        #expect(trails["v"]?.count == 150)
        #expect(trails["v"]?.last?["longitude"] == 20)
        #expect(trails["v"]?.first?["longitude"] == 5.1)
    }
}

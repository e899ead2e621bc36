// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetConsumer
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

@testable import fleetpass

@Suite struct ChangeLineTests {
    private static let place = GeoPoint(latitude: 37.5, longitude: -122.25)
    private static let time = Date(timeIntervalSince1970: 1_800_000_000)
    private static let failure = EngineFailure(
        stage: .engine, code: .notFound, reason: "RESOURCE_NOT_FOUND", message: "There is none.")

    private static func json(_ line: ChangeLine) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(line), as: UTF8.self)
    }

    /// Trips' changes with numbers, each with what it is in JSON and for people.
    private static var tripChanges: [(change: TripChange, json: String, text: String)] {
        let stretch = RouteTraffic.Stretch(points: 0...1, speed: "SLOW")
        return [
            (.route([place, place, place], encoded: nil), #"{"change":"route","points":3}"#, "route        3"),
            (.traffic(RouteTraffic(stretches: [stretch])), #"{"change":"traffic","stretches":1}"#, "traffic      1"),
            (.traffic(nil), #"{"change":"traffic"}"#, "traffic      none"),
            (
                .intermediateDestinations([place, place, place], next: 1),
                #"{"change":"destinations","destinations":2}"#, "destinations 2"
            ),
            (.remainingWaypoints([]), #"{"change":"stops","stops":0}"#, "stops        0"),
            (.remainingDistance(250), #"{"change":"distance","meters":250}"#, "distance     250 m"),
            (
                .vehiclePosition(VehiclePosition(point: place)),
                #"{"change":"position","latitude":37.5,"longitude":-122.25}"#, "position     37.500000,-122.250000"
            ),
        ]
    }

    @Test func `a number is called what it counts`() throws {
        for (change, json, text) in Self.tripChanges {
            let line = ChangeLine(change)
            #expect(try Self.json(line) == json)
            #expect(line.text == text)
        }
        let route = ChangeLine(ShipmentChange.route([Self.place]))
        #expect(try Self.json(route) == #"{"change":"route","points":1}"#)
        let stops = ChangeLine(ShipmentChange.remainingStops(4))
        #expect(try Self.json(stops) == #"{"change":"stops","stops":4}"#)
    }

    @Test func `a blank stands between the longest name and its value`() {
        let line = ChangeLine(ShipmentChange.estimatedCompletion(Self.time))
        #expect(line.text == "completion   2027-01-15T08:00:00.000Z")
    }

    @Test func `a failure has its code and reason beside its text`() throws {
        let refused =
            #"{"change":"failure","code":"NOT_FOUND","reason":"RESOURCE_NOT_FOUND","#
            + #""value":"NOT_FOUND (RESOURCE_NOT_FOUND): There is none."}"#
        #expect(try Self.json(ChangeLine(TripChange.failure(Self.failure))) == refused)
        #expect(try Self.json(ChangeLine(ShipmentChange.failure(Self.failure))) == refused)
        var unreasoned = Self.failure
        unreasoned.reason = nil
        #expect(
            try Self.json(ChangeLine(TripChange.failure(unreasoned)))
                == #"{"change":"failure","code":"NOT_FOUND","value":"NOT_FOUND: There is none."}"#)
    }

    @Test func `the page tells every key and every number's name`() throws {
        let page = URL(filePath: #filePath).appending(path: "../../../docs/command-line.md").standardized
        let sections = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "\n## ")
        let section = try #require(sections.first { $0.hasPrefix("`watch`\n") })
        let told = Set(section.matches(of: /`([a-z]+)`/).map { String($0.output.1) })
        for line in Self.tripChanges.map({ ChangeLine($0.change) }) + [ChangeLine(TripChange.failure(Self.failure))] {
            let object = try JSONSerialization.jsonObject(with: Data(Self.json(line).utf8))
            let keys = try #require(object as? [String: Any]).keys
            #expect(Set(keys).union([line.change]).subtracting(told) == [])
        }
    }
}

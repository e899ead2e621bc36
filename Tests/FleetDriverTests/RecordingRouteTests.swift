// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import Foundation
import Testing

@Suite struct RecordingRouteTests {
    private static func entry(_ vehicle: String, _ second: Int, latitude: Double = 1) -> String {
        """
        {"jsonPayload": {"@type": "type.googleapis.com/maps.fleetengine.v1.UpdateVehicleLog", "request":
        {"vehicleId": "\(vehicle)", "vehicle": {"last_location": {"location": {"latitude": \(latitude), "longitude": 2},
        "heading": 90, "speed": 4.5, "latLngAccuracy": 3, "rawLocationTime": "2025-01-01T00:00:0\(second)Z"}}}}}
        """
    }

    private static func delivery(_ vehicle: String, _ second: Int) -> String {
        """
        {"jsonpayload": {"@type": "type.googleapis.com/maps.fleetengine.delivery.v1.UpdateDeliveryVehicleLog", "request":
        {"deliveryvehicle": {"name": "providers/p/deliveryVehicles/\(vehicle)", "lastlocation": {"rawlocation":
        {"latitude": 1, "longitude": 2}, "heading": null, "updatetime": "2025-01-01T00:00:0\(second)Z"}}}}}
        """
    }

    private static func read(_ entries: String..., vehicle: String? = nil) throws -> Route {
        try RecordingRoute.read(Data("[\(entries.joined(separator: ","))]".utf8), vehicle: vehicle)
    }

    @Test func `every spelling of a key is read`() throws {
        let fix = try #require(Self.read(Self.entry("v", 3)).fixes.first)
        #expect(fix.latitude == 1 && fix.longitude == 2)
        #expect(fix.heading == 90 && fix.speed == 4.5 && fix.accuracy == 3)
        #expect(fix.time == Date(timeIntervalSince1970: 1_735_689_603))
        #expect(try Self.read(Self.delivery("d", 1)).fixes.count == 1)
    }

    @Test func `an id that begins with an accent is that of the vehicle`() throws {
        #expect(try Self.read(Self.delivery("\u{301}", 1), vehicle: "\u{301}").fixes.count == 1)
    }

    @Test func `entries on lines are read, as an engine writes them, and torn ones passed over`() throws {
        let lines = [Self.entry("v", 2, latitude: 20), Self.delivery("d", 1), Self.entry("v", 1, latitude: 10)]
            .map { $0.replacingOccurrences(of: "\n", with: " ") }
        let text = "\u{FEFF}\(lines[0])\r\n\r\n\(lines[1])\n\(lines[2].prefix(40))\n\(lines[2])\n"
        let route = try RecordingRoute.read(Data(text.utf8), vehicle: "v")
        #expect(route.fixes.map(\.latitude) == [10, 20])
        #expect(try RecordingRoute.read(Data("\(lines[0])\n".utf8)).fixes.map(\.latitude) == [20])
    }

    @Test func `exports that were joined are read, and answers of the API of logs`() throws {
        let entries = [Self.entry("v", 1, latitude: 10), Self.entry("v", 2, latitude: 20)]
            .map { $0.replacingOccurrences(of: "\n", with: " ") }
        let answer = #"{"entries": [\#(entries.joined(separator: ","))], "nextPageToken": "x"}"#
        for text in ["[\(entries[0])]\n[\(entries[1])]\n", answer] {
            #expect(try RecordingRoute.read(Data(text.utf8)).fixes.map(\.latitude) == [10, 20])
        }
    }

    @Test func `entries come out in the order of their times, each once`() throws {
        let route = try Self.read(
            Self.entry("v", 3, latitude: 30), Self.entry("v", 1, latitude: 10), Self.entry("v", 3, latitude: 30),
            Self.entry("v", 2, latitude: 20))
        #expect(route.fixes.map(\.latitude) == [10, 20, 30])
    }

    @Test func `one of several vehicles must be named`() throws {
        let error = try #require(throws: DriverError.self) { try Self.read(Self.entry("b", 1), Self.delivery("a", 1)) }
        #expect(error.code == .unknownVehicle)
        #expect(error.message.contains("a, b"))
        #expect(try Self.read(Self.entry("b", 1), Self.delivery("a", 2), vehicle: "a").name == "a")
        let wrong = try #require(throws: DriverError.self) { try Self.read(Self.entry("b", 1), vehicle: "c") }
        #expect(wrong.message.contains("\"c\"") && wrong.message.contains("holds b"))
    }

    @Test func `entries of other kinds and without a place are left out`() throws {
        let create = Self.entry("v", 1).replacingOccurrences(of: "UpdateVehicleLog", with: "CreateVehicleLog")
        let nowhere = Self.entry("v", 2).replacingOccurrences(of: "\"latitude\": 1.0, \"longitude\": 2", with: "")
        let error = try #require(throws: DriverError.self) { try Self.read(create, nowhere, "7", "null", "{}") }
        #expect(error.message.contains("no vehicle update"))
    }

    @Test func `a place off the Earth is refused with the number of its entry`() throws {
        let error = try #require(throws: DriverError.self) {
            try Self.read(Self.entry("v", 1), Self.entry("v", 2, latitude: 99))
        }
        #expect(error.message.contains("Entry 2 ") && error.message.contains("99"))
    }

    @Test(arguments: ["", "{", "{\"entries\": []}", "\"text\"", "[]"])
    func `what is no recording is refused`(text: String) throws {
        let error = try #require(throws: DriverError.self) { try RecordingRoute.read(Data(text.utf8)) }
        #expect(error.code == .invalidRoute)
    }
}

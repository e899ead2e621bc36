// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import Foundation
import Testing

/// The folder of the package.
private let package = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
    .deletingLastPathComponent()
    .deletingLastPathComponent()
private let recordings = package.deletingLastPathComponent().appendingPathComponent("shared/data/recordings")
private let hasRecordings = FileManager.default.fileExists(atPath: recordings.path)

@Suite struct RouteFileTests {
    @Test(
        arguments: [
            ("bay-area-trip-1.gpx", 275, 1_541), ("bay-area-trip-2.gpx", 250, 1_343), ("delivery-day.gpx", 278, 2_998),
        ]
    )
    func `the bundled routes are read`(name: String, points: Int, seconds: Int64) throws {
        let route = try Route.read(contentsOf: package.appendingPathComponent("Examples/routes/\(name)"))
        #expect(route.fixes.count == points)
        #expect(route.duration.components.seconds == seconds)
        #expect(
            route.fixes.allSatisfy { (37.3...37.9).contains($0.latitude) && (-122.6 ... -122.0).contains($0.longitude) }
        )
    }

    @Test(
        .enabled(if: hasRecordings, "the shared recordings are not here"),
        arguments: [
            ("two-trips-bay-area.json", "Vehicle_1", 525, 3_936), ("lmfs.json", "sample-vehicle-id", 555, 8_564),
        ]
    )
    func `the shared recordings are read`(name: String, vehicle: String, points: Int, seconds: Int64) throws {
        let url = recordings.appendingPathComponent(name)
        let route = try Route.read(contentsOf: url)
        #expect(route.name == vehicle)
        #expect(route.fixes.count == points)
        #expect(route.duration.components.seconds == seconds)
        #expect(try Route.read(contentsOf: url, vehicle: vehicle) == route)
        #expect(throws: DriverError.self) { try Route.read(contentsOf: url, vehicle: "another") }
    }

    @Test(arguments: ["", "\u{FEFF}", "\n  "])
    func `the content decides, not the extension`(start: String) throws {
        try Self.withFile(named: "route.json", start + "<gpx><wpt lat='1' lon='2'/></gpx>") { (url: URL) throws in
            #expect(try Route.read(contentsOf: url).fixes.count == 1)
        }
    }

    @Test func `a recording comes through a pipe, and of several vehicles the own one counts`() throws {
        func entry(_ vehicle: String, latitude: Double) -> String {
            """
            {"jsonPayload": {"@type": "type.googleapis.com/maps.fleetengine.v1.UpdateVehicleLog", "request":
            {"vehicleId": "\(vehicle)", "vehicle": {"last_location": {"location": {"latitude": \(latitude), "longitude": 2},
            "rawLocationTime": "2025-01-01T00:00:00Z"}}}}}
            """
        }
        func read(_ entries: String..., as vehicle: String?) throws -> Double? {
            let pipe = Pipe()
            try pipe.fileHandleForWriting.write(contentsOf: Data("[\(entries.joined(separator: ","))]".utf8))
            try pipe.fileHandleForWriting.close()
            defer { try? pipe.fileHandleForReading.close() }
            let file = URL(fileURLWithPath: "/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)")
            return try Route.read(contentsOf: file, ifSeveral: vehicle).fixes.first?.latitude
        }
        let (one, other) = (entry("a", latitude: 10), entry("b", latitude: 20))
        #expect(try read(one, other, as: "b") == 20)
        #expect(try read(one, as: "b") == 10)
        for vehicle in ["c", nil] {
            let error = #expect(throws: DriverError.self) { try read(one, other, as: vehicle) }
            #expect(error?.code == .unknownVehicle && error?.message.contains("name one of a, b") == true)
        }
    }

    @Test func `an error names the file`() throws {
        try Self.withFile(named: "notes.txt", "hello") { (url: URL) throws in
            let error = try #require(throws: DriverError.self) { try Route.read(contentsOf: url) }
            #expect(error.code == .invalidRoute && error.message.hasPrefix("notes.txt: "))
        }
        let missing = URL(fileURLWithPath: "/nonexistent/a.gpx")
        let error = try #require(throws: DriverError.self) { try Route.read(contentsOf: missing) }
        #expect(error.code == .unreadableFile && error.cause != nil)
    }

    @Test func `a route needs points in order`() throws {
        let early = try LocationFix(latitude: 0, longitude: 0, time: Date(timeIntervalSince1970: 1))
        let late = try LocationFix(latitude: 0, longitude: 0, time: Date(timeIntervalSince1970: 2))
        #expect(throws: DriverError.self) { try Route(fixes: []) }
        let error = try #require(throws: DriverError.self) { try Route(fixes: [early, late, early]) }
        #expect(error.message.contains("point 3"))
    }

    private static func withFile(named name: String, _ text: String, _ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = folder.appendingPathComponent(name)
        try Data(text.utf8).write(to: url)
        try body(url)
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetTokens
import Testing

@testable import fleetpass

@Suite struct AppCommandTests {
    @Test(arguments: [
        [], ["--vehicle", "veh-3", "--delivery-vehicle", "van-1"], ["--vehicle", "veh-3", "--report-stops"],
    ])
    func `a drive is one vehicle's, and only a delivery vehicle has stops`(options: [String]) {
        #expect(throws: (any Error).self) { try DriveCommand.parse(options + ["--route", "drive.gpx"]) }
    }

    @Test func `a delivery vehicle drives`() throws {
        let command = try DriveCommand.parse(["--delivery-vehicle", "van-1", "--report-stops", "--route", "drive.gpx"])
        #expect(command.deliveryVehicle == (try DeliveryVehicleID(checking: "van-1")) && command.reportStops)
    }

    @Test(arguments: ["0", "4", "61"])
    func `a drive reports every 5 to 60 seconds`(interval: String) {
        #expect(throws: (any Error).self) {
            try DriveCommand.parse(["--vehicle", "veh-3", "--route", "drive.gpx", "--interval", interval])
        }
    }

    @Test(arguments: [[], ["--trip", "trip-7", "--tracking-id", "parcel-3"], ["--tracking-id", "*"]])
    func `one trip or one shipment is watched`(options: [String]) {
        #expect(throws: (any Error).self) { try WatchCommand.parse(options) }
    }

    @Test func `a shipment is watched by its tracking id`() throws {
        #expect(
            try WatchCommand.parse(["--tracking-id", "parcel-3"]).trackingId == TrackingID(checking: "parcel-3"))
    }

    @Test(arguments: ["--tracking", "--tracking-id"])
    func `a tracking id goes by either name in every command`(option: String) throws {
        let tracking = try TrackingID(checking: "parcel-3")
        #expect(try WatchCommand.parse([option, "parcel-3"]).trackingId == tracking)
        #expect(try TokenIDs.parse([option, "parcel-3"]).tracking == tracking)
        #expect(try ResourceOptions.parse([option, "parcel-3"]).tracking == tracking)
    }

    @Test func `metres are right to a per mille within a town`() {
        // A hundredth of a degree of latitude is 1,112 m, and of longitude at 60 degrees north half of it.
        #expect(abs(GeoDistance.meters(from: (60, 10), to: (60.01, 10)) - 1_112) < 1)
        #expect(abs(GeoDistance.meters(from: (60, 10), to: (60, 10.01)) - 556) < 1)
        #expect(GeoDistance.meters(from: (60, 10), to: (60, 10)) == 0)
    }

    @Test func `the way across the 180th meridian is the shorter one`() {
        // A ten-thousandth of a degree on the equator.
        let east = GeoDistance.meters(from: (0, 179.99995), to: (0, -179.99995))
        #expect(abs(east - 11.12) < 0.01)
        #expect(abs(GeoDistance.meters(from: (0, -179.99995), to: (0, 179.99995)) - east) < 1e-6)
        #expect(GeoDistance.meters(from: (0, 180), to: (0, -180)) == 0)
    }
}

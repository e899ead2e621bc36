// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTokens
import Foundation

/// A delivery vehicle of the demo: a backend plans its stops, a driver makes them, and recipients follow their shipments.
struct DemoDeliveryRound {
    /// Where the stops are, as shares of the route; those who follow the last ones see the vehicle come near late.
    private static let stops = [0.1, 0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 0.95]
    private static let recipients = 3

    let vehicle: DeliveryVehicleID
    let route: DemoRoute
    let speed: Double
    let app: FleetApp
    let backend: FleetBackend

    /// One round along the route.
    func run() async throws {
        try await self.backend.createDeliveryVehicle(self.vehicle)
        let fixes = self.route.route.fixes
        var stops: [(task: TaskID, place: [Double])] = []
        var shipments: [TrackingID] = []
        let round = UUID().uuidString.prefix(6).lowercased()
        for (index, share) in Self.stops.enumerated() {
            let fix = fixes[Int(Double(fixes.count - 1) * share)]
            let task = try TaskID(checking: "delivery-\(round)-\(index + 1)")
            let shipment = try TrackingID(checking: "parcel-\(round)-\(index + 1)")
            try await self.backend.createTask(task, tracking: shipment, at: [fix.latitude, fix.longitude])
            stops.append((task, [fix.latitude, fix.longitude]))
            shipments.append(shipment)
        }
        try await self.backend.setStops(stops, of: self.vehicle)
        Console.say("\(self.vehicle): \(stops.count) stops, shipments \(shipments[0]) to \(shipments[stops.count - 1])")

        try await withThrowingTaskGroup(of: Void.self) { group in
            for shipment in shipments.shuffled().prefix(Self.recipients) {
                group.addTask { try await self.follow(shipment) }
            }
            try await self.drive()
            // A drive that misses a stop leaves its shipment open; its recipient waits no longer then.
            group.cancelAll()
        }
    }

    private func drive() async throws {
        let command = [
            "drive", "--delivery-vehicle", self.vehicle.value, "--route", self.route.file, "--speed", "\(self.speed)",
            "--interval", "5", "--report-stops",
        ]
        try await self.app.run(command) { line in
            if line.hasPrefix("failed") { Console.say("\(self.vehicle): \(line)") }
        }
    }

    private func follow(_ shipment: TrackingID) async throws {
        do {
            try await self.app.run(["watch", "--tracking-id", shipment.value]) { line in
                if line.hasPrefix("stops") || line.hasPrefix("ended") { Console.say("\(shipment): \(line)") }
            }
        } catch is CancellationError {
        }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTokenClient
import FleetTokenServer
import FleetTokens
import Foundation

/// A small fleet on real routes: drivers, customers and recipients in processes of their own, a backend, and somebody
/// who tries wrong tokens.
struct DemoFleet {
    private let drives: [(vehicle: VehicleID, route: DemoRoute)]
    private let rounds: [DemoDeliveryRound]
    private let speed: Double
    private let app: FleetApp
    private let backend: FleetBackend
    private let intruder: DemoIntruder

    /// Puts the fleet together.
    ///
    /// - Parameters:
    ///   - addresses: Where the demo listens.
    ///   - issuer: Signs the backends' tokens.
    ///   - secret: What the token server asks for; empty where it asks for nothing. Apps find it in the environment.
    ///   - routes: The drives.
    ///   - speed: How many times faster than recorded.
    /// - Throws: ``CommandFailure``, or what is wrong with the addresses.
    init(
        addresses: LocalService.Addresses, issuer: TokenIssuer, secret: String, routes: [DemoRoute], speed: Double
    ) throws {
        self.speed = speed
        let app = try FleetApp(addresses: addresses)
        self.app = app
        self.drives = try routes.filter { !$0.isDelivery }.enumerated().map { index, route in
            (try VehicleID(checking: "vehicle-\(index + 1)"), route)
        }
        let transport = ClientTransport()
        let engine = try EngineEndpoint(addresses.http)
        self.backend = FleetBackend(
            provider: addresses.provider,
            engine: engine,
            token: { try await issuer.issue(.server).token },
            transport: transport
        )
        let deliveries = FleetBackend(
            provider: addresses.provider,
            engine: engine,
            token: { try await issuer.issue(.deliveryServer).token },
            transport: transport
        )
        self.rounds = try routes.filter(\.isDelivery).enumerated().map { index, route in
            DemoDeliveryRound(
                vehicle: try DeliveryVehicleID(checking: "van-\(index + 1)"), route: route, speed: speed, app: app,
                backend: deliveries)
        }
        self.intruder = DemoIntruder(
            provider: addresses.provider,
            engine: engine,
            tokens: try FleetTokenProvider(endpoint: .fleetpass(addresses.http), transport: transport) {
                secret.isEmpty ? [] : [(name: "Authorization", value: "Bearer \(secret)")]
            },
            transport: transport,
            vehicles: self.drives.map(\.vehicle)
        )
    }

    /// Drives until cancelled.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            for drive in self.drives {
                group.addTask { await self.repeatUntilCancelled { try await self.drive(drive.vehicle, drive.route) } }
            }
            for round in self.rounds {
                group.addTask { await self.repeatUntilCancelled { try await round.run() } }
            }
            group.addTask {
                await self.repeatUntilCancelled {
                    try await Task.sleep(for: .seconds(15))
                    try await self.intruder.tryNext()
                }
            }
        }
    }

    /// Runs a body again and again; a failure is told, and followed by a pause.
    private func repeatUntilCancelled(_ body: @Sendable () async throws -> Void) async {
        while !Task.isCancelled {
            do {
                try await body()
            } catch is CancellationError {
                return
            } catch {
                Console.say("demo: \(error)")
                try? await Task.sleep(for: .seconds(5))
            }
        }
    }

    /// One drive along a route, with one trip on it and a customer who watches.
    private func drive(_ vehicle: VehicleID, _ route: DemoRoute) async throws {
        try await self.backend.createVehicle(vehicle)
        // What a drive that failed, or a demo that was ended, left behind.
        try await self.backend.cancelTrips(of: vehicle)
        async let trip: Void = self.carry(on: route.route, by: vehicle)
        let command = ["drive", "--vehicle", vehicle.value, "--route", route.file, "--speed", "\(self.speed)"]
        try await self.app.run(command + ["--interval", "5"]) { line in
            if line.hasPrefix("failed") { Console.say("\(vehicle): \(line)") }
        }
        try await trip
    }

    /// One trip along the route: asked for, driven to, picked up, dropped off.
    private func carry(on route: Route, by vehicle: VehicleID) async throws {
        let trip = try TripID(checking: "trip-\(UUID().uuidString.prefix(8).lowercased())")
        func place(_ share: Double) -> [Double] {
            let fix = route.fixes[Int(Double(route.fixes.count - 1) * share)]
            return [fix.latitude, fix.longitude]
        }
        try await self.backend.createTrip(trip, from: place(0.3), to: place(0.9))
        async let watching: Void = self.app.run(["watch", "--trip", trip.value]) { line in
            if line.hasPrefix("status") { Console.say("\(trip): \(line)") }
        }
        let steps: [(status: String, until: Double)] = [
            ("ENROUTE_TO_PICKUP", 0.3), ("ARRIVED_AT_PICKUP", 0.05), ("ENROUTE_TO_DROPOFF", 0.6), ("COMPLETE", 0),
        ]
        for (index, step) in steps.enumerated() {
            try await self.backend.updateTrip(trip, status: step.status, vehicle: index == 0 ? vehicle : nil)
            try await Task.sleep(for: route.duration * step.until / self.speed)
        }
        try await watching
    }
}

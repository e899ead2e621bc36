// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetConsumer
import FleetDriver
import FleetTokenClient
import FleetTokenServer
import FleetTokens
import Foundation

/// A small fleet on real routes: drivers, customers, a backend, and somebody who tries wrong tokens.
struct DemoFleet {
    private let addresses: LocalService.Addresses
    private let drives: [(vehicle: VehicleID, route: Route)]
    private let speed: Double
    private let backend: FleetBackend
    private let tokens: FleetTokenProvider
    private let intruder: DemoIntruder

    init(addresses: LocalService.Addresses, issuer: TokenIssuer, routes: [Route], speed: Double) throws {
        self.addresses = addresses
        self.speed = speed
        self.drives = try routes.enumerated().map { index, route in
            (try VehicleID(checking: "vehicle-\(index + 1)"), route)
        }
        let transport = URLSessionTransport()
        self.tokens = try FleetTokenProvider(endpoint: .fleetpass(addresses.http), transport: transport)
        let engine = try EngineEndpoint(addresses.http)
        self.backend = FleetBackend(
            provider: addresses.provider,
            engine: engine,
            token: { try await issuer.issue(.server).token },
            transport: transport
        )
        self.intruder = DemoIntruder(
            provider: addresses.provider, engine: engine, tokens: self.tokens, transport: transport,
            vehicles: self.drives.map(\.vehicle)
        )
    }

    /// Drives until cancelled.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            for drive in self.drives {
                group.addTask { await self.repeatUntilCancelled { try await self.drive(drive.vehicle, drive.route) } }
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
    private func drive(_ vehicle: VehicleID, _ route: Route) async throws {
        try await self.backend.createVehicle(vehicle)
        let reporter = try VehicleReporter(
            provider: self.addresses.provider,
            vehicle: vehicle,
            engine: self.addresses.http,
            tokens: self.tokens,
            configuration: .init(reportingInterval: .seconds(5))
        )
        await reporter.startTracking()
        try await reporter.setState(.online)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await reporter.run(reporting: RouteLocationSource(route: route, speed: self.speed))
            }
            group.addTask { try await self.carry(on: route, by: vehicle) }
            group.addTask {
                for await update in reporter.updates {
                    if let failure = update.failure { Console.say("\(vehicle): \(failure)") }
                }
            }
            // The drive and the trip end by themselves; the stream of updates does not.
            try await group.next()
            try await group.next()
            group.cancelAll()
        }
        await reporter.stopTracking()
    }

    /// One trip along the route: asked for, driven to, picked up, dropped off.
    private func carry(on route: Route, by vehicle: VehicleID) async throws {
        let trip = try TripID(checking: "trip-\(UUID().uuidString.prefix(8).lowercased())")
        func place(_ share: Double) -> [Double] {
            let fix = route.fixes[Int(Double(route.fixes.count - 1) * share)]
            return [fix.latitude, fix.longitude]
        }
        try await self.backend.createTrip(trip, from: place(0.3), to: place(0.9))
        let watching = Task { await self.watch(trip) }
        defer { watching.cancel() }
        let steps: [(status: String, until: Double)] = [
            ("ENROUTE_TO_PICKUP", 0.3), ("ARRIVED_AT_PICKUP", 0.05), ("ENROUTE_TO_DROPOFF", 0.6), ("COMPLETE", 0),
        ]
        for (index, step) in steps.enumerated() {
            try await self.backend.updateTrip(trip, status: step.status, vehicle: index == 0 ? vehicle : nil)
            try await Task.sleep(for: route.duration * step.until / self.speed)
        }
    }

    /// A customer's app: watches one trip with a token for that trip alone.
    private func watch(_ trip: TripID) async {
        guard
            let model = try? TripModel(
                provider: self.addresses.provider, trip: trip, engine: self.addresses.http, tokens: self.tokens)
        else { return }
        let polling = Task { try await model.run() }
        defer { polling.cancel() }
        for await change in model.changes {
            switch change {
            case .status, .ended, .failure: Console.say("\(trip): \(ChangeLine(change).text)")
            default: break
            }
        }
    }
}

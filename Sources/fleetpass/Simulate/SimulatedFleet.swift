// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetConsumer
import FleetDriver
import FleetTokenClient
import FleetTokens
import Foundation

/// Many vehicles on real routes in one process, over a few connections, each with tokens of its own.
struct SimulatedFleet: Sendable {
    /// Of how many places along each route the vehicles start.
    private static let startsPerRoute = 16
    private static let creationsAtOnce = 8

    let vehicles: [VehicleID]
    let starts: [Route]
    let routes: [Route]
    let speed: Double
    /// Between two reports of a vehicle, and between two states of a trip.
    let interval: Duration
    /// Between two vehicles that go offline at the end, so that the fleet sends no more updates a second than it may.
    let pause: Duration
    /// One for each vehicle.
    let reporters: [VehicleReporter]
    let provider: ProviderID
    let engine: URL
    let tokens: any TokenProvider
    let transport: any HTTPTransport
    let backend: FleetBackend?
    let meter: FleetMeter

    /// Lays out a fleet on the bundled routes, which sends so many updates a second at most.
    init(
        size: Int, speed: Double, interval: Duration, maxRate: Double, provider: ProviderID, engine: URL,
        tokens: any TokenProvider, transport: any HTTPTransport, backend: FleetBackend?, meter: FleetMeter
    ) throws {
        self.vehicles = try (1...size).map { try VehicleID(checking: "sim-\($0)") }
        self.routes = try BundledRoutes.all()
        self.starts = try self.routes.flatMap { route in
            try (0..<Self.startsPerRoute).map { start in
                let passed = route.fixes.count * start / Self.startsPerRoute
                return try Route(name: route.name, fixes: Array(route.fixes.dropFirst(passed)))
            }
        }
        self.speed = speed
        self.interval = interval
        self.pause = .seconds(1 / maxRate)
        let configuration = VehicleReporterConfiguration(
            reportingInterval: interval, sensor: .customerSupplied, eventCapacity: 16)
        self.reporters = try self.vehicles.map { vehicle in
            try FleetAddressOptions.checkingURLs {
                try VehicleReporter(
                    provider: provider, vehicle: vehicle, engine: engine, tokens: tokens, transport: transport,
                    configuration: configuration)
            }
        }
        self.provider = provider
        self.engine = engine
        self.tokens = tokens
        self.transport = transport
        self.backend = backend
        self.meter = meter
    }

    /// Creates the vehicles that do not exist yet, a few at a time.
    func create() async throws {
        guard let backend = self.backend else { return }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, vehicle) in self.vehicles.enumerated() {
                if index >= Self.creationsAtOnce { try await group.next() }
                group.addTask { try await backend.createVehicle(vehicle) }
            }
            try await group.waitForAll()
        }
    }

    /// Drives for a time, with so many trips a minute, then sets the vehicles offline that have begun, one by one.
    func drive(for time: RunningTime, tripsPerMinute: Double) async {
        let spread = self.interval / self.vehicles.count
        await withTaskGroup(of: Void.self) { group in
            for (index, reporter) in self.reporters.enumerated() {
                group.addTask {
                    // Spread over the interval, as the phones of a fleet are.
                    guard (try? await Task.sleep(for: spread * index)) != nil else { return }
                    await self.drive(
                        reporter, from: self.starts[index % self.starts.count], endingAfter: self.pause * index)
                }
            }
            if let backend = self.backend, tripsPerMinute > 0 {
                group.addTask { await self.makeTrips(perMinute: tripsPerMinute, with: backend) }
            }
            await time.end()
            self.meter.count { $0.isOver = true }
            group.cancelAll()
        }
    }

    /// Drives until the task is cancelled, and goes offline a while after that.
    private func drive(_ reporter: VehicleReporter, from start: Route, endingAfter pause: Duration) async {
        let updates = reporter.updates()
        let counting = Task { [meter] in
            for await update in updates { meter.count(update) }
        }
        await reporter.startTracking()
        let lap = self.routes.first { $0.name == start.name && $0.fixes.last == start.fixes.last } ?? start
        do {
            try await Self.report(EndlessDrive(start, then: lap, speed: self.speed), by: reporter)
        } catch {
            // The time is over.
        }
        // A task of its own, because this one is cancelled.
        _ = await Task { try await Task.sleep(for: pause) }.result
        await reporter.stopTracking()
        counting.cancel()
        await counting.value
    }

    /// Reports a drive: the online state with the first place, in one update, and then what there is at each interval.
    private static func report(_ drive: EndlessDrive, by reporter: VehicleReporter) async throws {
        // The reporter sends the first place of a source at once, beside the update for the state; so it gets none.
        let (nothing, feed) = AsyncStream.makeStream(of: LocationFix.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            var isFirst = true
            for try await fix in drive {
                await reporter.record(fix)
                guard isFirst else { continue }
                isFirst = false
                try await reporter.setState(.online)
                group.addTask { try await reporter.run(reporting: nothing) }
            }
            feed.finish()
            try await group.waitForAll()
        }
    }

    // MARK: - Trips

    private func makeTrips(perMinute rate: Double, with backend: FleetBackend) async {
        // Trips go on for as long as the drive does; nothing is kept of those that are over.
        await withDiscardingTaskGroup { group in
            var number = 0
            while (try? await Task.sleep(for: .seconds(60 / rate))) != nil {
                let vehicle = self.vehicles[number % self.vehicles.count]
                let route = self.starts[number % self.starts.count]
                number += 1
                group.addTask {
                    do {
                        try await self.carry(by: vehicle, on: route, with: backend)
                    } catch is CancellationError {
                    } catch {
                        self.meter.count { $0.tripsFailed += 1 }
                    }
                }
            }
            group.cancelAll()
        }
    }

    /// One trip: asked for, made and over within a few reports, watched by its customer.
    func carry(by vehicle: VehicleID, on route: Route, with backend: FleetBackend) async throws {
        let trip = try TripID(checking: "sim-trip-\(UUID().uuidString.prefix(13).lowercased())")
        let ends = [route.fixes[route.fixes.count / 2], route.fixes[route.fixes.count - 1]]
        // A task of its own, because the engine may make the trip although this one is cancelled meanwhile.
        try await Task {
            try await backend.createTrip(
                trip, from: [ends[0].latitude, ends[0].longitude], to: [ends[1].latitude, ends[1].longitude])
        }.value
        self.meter.count { $0.tripsCreated += 1 }
        let model = try TripModel(
            provider: self.provider, trip: trip, engine: self.engine, tokens: self.tokens, transport: self.transport)
        async let watching: Void = model.run()
        do {
            for (index, status) in ["ENROUTE_TO_PICKUP", "ARRIVED_AT_PICKUP", "ENROUTE_TO_DROPOFF"].enumerated() {
                try await backend.updateTrip(trip, status: status, vehicle: index == 0 ? vehicle : nil)
                try await Task.sleep(for: self.interval)
            }
            try await backend.updateTrip(trip, status: "COMPLETE")
        } catch {
            let isOver = Task.isCancelled
            // A task of its own, because this one may be cancelled: no trip is left open.
            let ending = await Task { try await backend.updateTrip(trip, status: "CANCELED") }.result
            guard isOver else { throw error }
            do {
                try ending.get()
                self.meter.count { $0.tripsCutShort += 1 }
            } catch let failure as EngineFailure where failure.code == .failedPrecondition {
                // The engine took it as complete before.
                self.meter.count { $0.tripsCompleted += 1 }
            }
            throw CancellationError()
        }
        self.meter.count { $0.tripsCompleted += 1 }
        // The trip is complete, whether or not its customer hears of that before the time is over.
        try? await watching
    }
}

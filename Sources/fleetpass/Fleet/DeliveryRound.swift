// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTokenClient

/// A delivery driver on a trusted device, who reports each stop when the drive comes by, and its tasks as done.
struct DeliveryRound {
    /// How near a stop counts as there, in metres.
    private static let reach = 60.0

    let reporter: DeliveryVehicleReporter

    /// Drives to the end of the route.
    ///
    /// What the engine did not take is told by the reporter's updates, and repeated by it where that may help. What was
    /// not sent, as its stop is gone or was not begun, is told here.
    ///
    /// - Parameter source: Where the van is.
    /// - Throws: `CancellationError`, or ``CommandFailure`` when what is told cannot be written.
    func drive(along source: RouteLocationSource) async throws {
        let (fixes, feed) = AsyncStream.makeStream(of: LocationFix.self)
        let reporter = self.reporter
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await reporter.run(reporting: fixes) }
            try await self.depart()
            for try await fix in source {
                feed.yield(fix)
                // One stop for each fix: a stop that is refused must not be tried for ever.
                if await self.nextStop(near: fix) != nil { try await self.deliver(at: fix) }
            }
            feed.finish()
            try await group.waitForAll()
        }
    }

    private func deliver(at fix: LocationFix) async throws {
        try await Self.passingOver { try await self.reporter.reportArrivedAtStop() }
        // Where the arrival was refused, nothing is done; where the stop is gone, another one is the next.
        if let stop = await self.nextStop(near: fix), stop.state == .arrived {
            for task in stop.tasks {
                try await Self.passingOver { try await self.reporter.reportOutcome(.succeeded, of: task) }
            }
            try await Self.passingOver { try await self.reporter.reportCompletedStop() }
        }
        try await self.depart()
    }

    private func depart() async throws {
        try await Self.passingOver {
            guard try await !self.reporter.readRemainingStops().isEmpty else { return }
            try await self.reporter.reportEnrouteToNextStop()
        }
    }

    private static func passingOver(_ report: () async throws -> some Any) async throws {
        do {
            _ = try await report()
        } catch is EngineFailure {
        } catch let error as DriverError {
            try Console.write(DriveReport(error).text)
        }
    }

    /// The next stop, if the fix is there.
    private func nextStop(near fix: LocationFix) async -> VehicleStop? {
        guard let stop = await self.reporter.remainingStops?.first else { return nil }
        let distance = GeoDistance.meters(
            from: (fix.latitude, fix.longitude), to: (stop.latitude, stop.longitude))
        return distance <= Self.reach ? stop : nil
    }
}

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
    /// What the engine did not take is told by the reporter's updates, and repeated by it.
    func drive(along source: RouteLocationSource) async throws {
        let (fixes, feed) = AsyncStream.makeStream(of: LocationFix.self)
        let reporter = self.reporter
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await reporter.run(reporting: fixes) }
            try await self.depart()
            for try await fix in source {
                feed.yield(fix)
                // One stop for each fix: a stop that is refused must not be tried for ever.
                if let stop = await reporter.remainingStops?.first, Self.meters(from: fix, to: stop) <= Self.reach {
                    try await self.deliver(stop)
                }
            }
            feed.finish()
            try await group.waitForAll()
        }
    }

    private func deliver(_ stop: VehicleStop) async throws {
        try await Self.passingOver { try await self.reporter.reportArrivedAtStop() }
        for task in stop.tasks {
            try await Self.passingOver { try await self.reporter.reportOutcome(.succeeded, of: task) }
        }
        try await Self.passingOver { try await self.reporter.reportCompletedStop() }
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
        }
    }

    private static func meters(from fix: LocationFix, to stop: VehicleStop) -> Double {
        GeoDistance.meters(
            from: (fix.latitude, fix.longitude), to: (stop.latitude, stop.longitude))
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTokenClient
import FleetTokens
import Foundation

/// One report as `drive` prints it.
struct DriveReport {
    let text: String
    let failure: EngineFailure?

    init(_ update: VehicleUpdateEvent) {
        self.init(
            "\(update.state) \(Self.place(update.location))", "+\(update.pastLocationCount) past", update.failure)
    }

    init(_ update: DeliveryVehicleUpdateEvent) {
        switch update.content {
        case .locations(let newest, let count): self.init(Self.place(newest), "+\(count) past", update.failure)
        case .stops(let stops):
            let next = stops.first.map { ", the next one \($0.state.rawValue)" } ?? ""
            self.init("stops", "\(stops.count) left\(next)", update.failure)
        case .taskOutcome(let outcome, let task): self.init("task \(task)", outcome.rawValue, update.failure)
        }
    }

    /// A change of the stops that was not sent, as its stop is gone or was not begun.
    init(_ error: DriverError) {
        self.failure = nil
        self.text = "failed    stops \(error)".shown()
    }

    private init(_ subject: String, _ detail: String, _ failure: EngineFailure?) {
        self.failure = failure
        self.text = (failure.map { "failed    \(subject) \($0.told)" } ?? "reported  \(subject) \(detail)").shown()
    }

    private static func place(_ fix: LocationFix?) -> String {
        fix.map { String(format: "%.6f,%.6f", $0.latitude, $0.longitude) } ?? "no location"
    }

    /// Prints each report, and tells how the last one failed, and the first of those that failed before it.
    ///
    /// - Parameters:
    ///   - updates: What becomes of each report.
    ///   - make: Makes the report to print.
    ///   - cut: Is called when one cannot be printed, after which none is.
    /// - Returns: Why the drive failed; `nil` when it did not.
    static func print<Update>(
        _ updates: AsyncStream<Update>, _ make: (Update) -> DriveReport, orCut cut: () -> Void
    ) async -> CommandFailure? {
        var failures: (first: EngineFailure, last: EngineFailure)?
        var unwritten: CommandFailure?
        for await update in updates {
            let report = make(update)
            failures = report.failure.map { (failures?.first ?? $0, $0) }
            guard unwritten == nil else { continue }
            do throws(CommandFailure) {
                try Console.write(report.text)
            } catch {
                unwritten = error
                cut()
            }
        }
        if let unwritten { return unwritten }
        return failures.map { first, last in
            let cause = first.told == last.told ? "" : " The first to fail: \(first.told)"
            return CommandFailure(
                status: .init(last),
                message: "the last report failed: \(last.told)\(cause)".shown()
            )
        }
    }
}

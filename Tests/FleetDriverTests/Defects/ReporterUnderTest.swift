// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTestSupport
import FleetTokens

/// Which reporter a check looks at.
enum ReporterKind: Sendable {
    case fleetpass
    /// A reporter in the shape of the sample apps', right except for what is named.
    case sample(Set<ReporterFlaw>)
}

/// One way to get the interval between two reports wrong.
enum ReporterFlaw: Hashable, Sendable {
    /// Whatever the app asks for is taken.
    case intervalAsGiven
    /// Debug builds stop where the app asks for less than is allowed.
    case intervalAsserted
}

/// A reporter that is told its interval and then left alone.
struct ReporterUnderTest: Sendable {
    let kind: ReporterKind

    /// What is wrong with it, or `nil`.
    ///
    /// - Parameters:
    ///   - interval: What the app asks for.
    ///   - later: What the app asks for once the reporter exists.
    /// - Returns: The finding.
    /// - Throws: Whatever keeps the check from being made.
    func finding(_ interval: Duration, later: Duration) async throws -> String? {
        let recorder = SleepRecorder()
        let accident = Locked<String?>(nil)
        let run = try await self.start(interval, later: later, on: recorder) { what in accident.withLock { $0 = what } }
        defer { run.cancel() }
        guard let pause = await recorder.sleeps.first(where: { _ in true }) else { return accident.withLock { $0 } }
        return pause < .seconds(5) ? "the next report comes after \(pause)" : accident.withLock { $0 }
    }

    private func start(
        _ interval: Duration, later: Duration, on recorder: SleepRecorder, crash: @escaping @Sendable (String) -> Void
    ) async throws -> Task<Void, any Error> {
        guard case .sample(let flaws) = self.kind else {
            let configuration = VehicleReporterConfiguration(reportingInterval: interval)
            let reporter = try ReporterWorld(configuration: configuration, recorder: recorder).reporter
            await reporter.setReportingInterval(later)
            await reporter.startTracking()
            let (fixes, source) = AsyncStream.makeStream(of: LocationFix.self)
            return Task {
                defer { source.finish() }
                try await reporter.run(reporting: fixes)
            }
        }
        var sample = SampleShapedReporter(flaws: flaws, crash: crash)
        sample.setInterval(interval)
        sample.setInterval(later)
        return Task { [sample] in try await sample.run(on: recorder) }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport

/// A reporter as the sample apps have it, on any clock.
struct SampleShapedReporter: Sendable {
    let flaws: Set<ReporterFlaw>
    /// Stands for a failed assertion, which no test could survive.
    let crash: @Sendable (String) -> Void
    private(set) var interval = Duration.seconds(10)

    init(flaws: Set<ReporterFlaw>, crash: @escaping @Sendable (String) -> Void) {
        self.flaws = flaws
        self.crash = crash
    }

    mutating func setInterval(_ interval: Duration) {
        let shortest = Duration.seconds(5)
        if self.flaws.contains(.intervalAsserted), interval < shortest { self.crash("asserted: \(interval)") }
        self.interval = self.flaws.contains(.intervalAsGiven) ? interval : max(interval, shortest)
    }

    func run(on clock: SleepRecorder) async throws {
        while true {
            // A sleep of no length ends before it could notice.
            try Task.checkCancellation()
            try await clock.sleep(until: clock.now.advanced(by: self.interval), tolerance: nil)
        }
    }
}

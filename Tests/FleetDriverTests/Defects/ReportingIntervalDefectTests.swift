// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import Testing

/// The one defect of the sample apps that lies in the reporting and not in the tokens; see `docs/fetcher-defects.md`.
///
/// As with the others, one check looks at our reporter and at a right one, where it finds nothing, and at that one with
/// each way of the defect switched on, where it must.
@Suite(.timeLimit(.minutes(10))) struct ReportingIntervalDefectTests {
    @Test(arguments: [Duration.milliseconds(1000), .milliseconds(1), .seconds(-5)])
    func `sample app 11: an interval below five seconds becomes five seconds`(interval: Duration) async throws {
        for (first, later) in [(interval, interval), (interval, .seconds(10)), (.seconds(10), interval)] {
            #expect(try await ReporterUnderTest(kind: .fleetpass).finding(first, later: later) == nil)
            #expect(try await ReporterUnderTest(kind: .sample([])).finding(first, later: later) == nil)
        }
        for flaw in [ReporterFlaw.intervalAsGiven, .intervalAsserted] {
            let finding = try await ReporterUnderTest(kind: .sample([flaw])).finding(interval, later: interval)
            #expect(finding != nil, "the check does not see \(flaw)")
        }
        var configuration = VehicleReporterConfiguration(reportingInterval: interval)
        #expect(configuration.reportingInterval == .seconds(5))
        configuration.reportingInterval = interval
        #expect(configuration.reportingInterval == .seconds(5))
    }
}

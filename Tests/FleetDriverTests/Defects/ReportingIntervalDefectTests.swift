// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import Testing

/// The one defect of the sample apps that lies in the reporting and not in the tokens; see `docs/fetcher-defects.md`.
@Suite struct ReportingIntervalDefectTests {
    @Test(arguments: [Duration.milliseconds(1000), .zero, .seconds(-5)])
    func `sample app 11: an interval below five seconds becomes five seconds`(interval: Duration) {
        var configuration = VehicleReporterConfiguration(reportingInterval: interval)
        #expect(configuration.reportingInterval == .seconds(5))
        configuration.reportingInterval = interval
        #expect(configuration.reportingInterval == .seconds(5))
    }
}

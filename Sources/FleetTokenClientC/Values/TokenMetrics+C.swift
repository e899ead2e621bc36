// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import CFleetTokenClient
import FleetTokenClient

extension fp_metrics {
    /// The numbers for C.
    init(_ metrics: TokenMetrics) {
        self.init(
            hits: Int64(metrics.hits), waits: Int64(metrics.waits), waited_ms: metrics.waited.wholeMilliseconds,
            longest_wait_ms: metrics.longestWait.wholeMilliseconds, fetches: Int64(metrics.fetches),
            failures: Int64(metrics.failures), refusals: Int64(metrics.refusals))
    }
}

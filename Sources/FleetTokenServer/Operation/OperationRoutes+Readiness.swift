// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetOperation

extension OperationRoutes {
    /// Makes the routes of a token server.
    ///
    /// - Parameters:
    ///   - readiness: What `/readyz` answers from.
    ///   - remarks: What somebody should mend that keeps the server from nothing, by check; `/readyz` tells it where there
    ///     are no problems.
    ///   - metrics: What `/metrics` shows.
    ///   - others: What `/metrics` shows besides, in the Prometheus text format.
    public init(
        readiness: Readiness, remarks: @escaping @Sendable () -> [String: String] = { [:] },
        metrics: TokenServerMetrics, others: @escaping @Sendable () -> String = { "" }
    ) {
        self.init(
            problems: {
                Dictionary(uniqueKeysWithValues: readiness.problems.map { ($0.key.rawValue, $0.value) })
            },
            remarks: remarks, metrics: { metrics.text + others() })
    }
}

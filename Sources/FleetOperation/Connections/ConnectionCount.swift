// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import HummingbirdCore
package import Logging

/// Counts the connections of one port and admits no more than a maximum; the rest waits in the system's queue.
package struct ConnectionCount: AvailableConnectionsDelegate {
    /// The most connections at once.
    package let maximum: Int
    /// What the port is called.
    package let port: String
    private let open = Locked(0)
    private let logger: Logger

    /// Starts at none.
    ///
    /// - Parameters:
    ///   - maximum: The most connections at once.
    ///   - port: What the port is called in metrics and the log, such as `http`.
    ///   - logger: Hears when the maximum is reached.
    package init(maximum: Int, port: String, logger: Logger) {
        self.maximum = maximum
        self.port = port
        self.logger = logger
    }

    /// How many connections are open now.
    package var current: Int { self.open.withLock { $0 } }

    package func connectionOpened() {
        let count = self.open.withLock { count in
            count += 1
            return count
        }
        guard count == self.maximum else { return }
        self.logger.warning(
            "no more connections are taken until one ends",
            metadata: ["port": "\(self.port)", "connections": "\(count)"])
    }

    package func connectionClosed() {
        self.open.withLock { $0 -= 1 }
    }

    package func isAcceptingNewConnections() -> Bool {
        self.current < self.maximum
    }
}

extension Sequence<ConnectionCount> {
    /// How many connections each port has, for Prometheus.
    package var metrics: String {
        var family = MetricFamily(
            "fleetpass_connections", .gauge, labels: ["port"], help: "Connections that are open now, by port.")
        for count in self { family.set(Double(count.current), count.port) }
        return family.text
    }
}

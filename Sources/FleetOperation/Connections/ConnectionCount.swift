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
    private let open = Locked(Open())
    private let logger: Logger

    private struct Open {
        var count = 0
        /// Whether the log knows that there are no more.
        var isTold = false
    }

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
    package var current: Int { self.open.withLock(\.count) }

    package func connectionOpened() {
        let isNews = self.open.withLock { open in
            open.count += 1
            guard open.count >= self.maximum, !open.isTold else { return false }
            open.isTold = true
            return true
        }
        guard isNews else { return }
        self.logger.warning(
            "no more connections are taken until one ends",
            metadata: ["port": "\(self.port)", "connections": "\(self.maximum)"])
    }

    package func connectionClosed() {
        self.open.withLock { open in
            open.count -= 1
            // In a flood each end lets one in; it is news again once there was room.
            if open.count < self.maximum - self.maximum / 10 { open.isTold = false }
        }
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

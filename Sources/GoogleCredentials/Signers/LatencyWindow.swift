// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// The latest latencies of a service, and the time that nearly all of them stayed under.
struct LatencyWindow: Sendable {
    private static let capacity = 128
    /// Fewer say too little.
    private static let least = 20

    private var latencies: [Duration] = []
    private var next = 0

    mutating func record(_ latency: Duration) {
        if self.latencies.count < Self.capacity {
            self.latencies.append(latency)
        } else {
            self.latencies[self.next] = latency
            self.next = (self.next + 1) % Self.capacity
        }
    }

    /// The 95th percentile, once there are enough latencies.
    var p95: Duration? {
        guard self.latencies.count >= Self.least else { return nil }
        return self.latencies.sorted()[self.latencies.count * 95 / 100]
    }
}

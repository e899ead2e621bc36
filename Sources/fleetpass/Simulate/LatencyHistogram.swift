// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// How long things took, in buckets that grow by a fiftieth, so that any number of them takes the same space.
struct LatencyHistogram: Sendable {
    private static let growth = log(1.02)
    /// From 10 microseconds to about two minutes.
    private static let bucketCount = 823
    private static let shortest = 0.000_01

    private var counts = [Int](repeating: 0, count: Self.bucketCount)
    private(set) var count = 0

    mutating func add(_ duration: Duration) {
        let steps = log(max(duration / .seconds(1), Self.shortest) / Self.shortest) / Self.growth
        self.counts[min(Int(steps), Self.bucketCount - 1)] += 1
        self.count += 1
    }

    /// The time that a share of all stayed within, to two per cent; `nil` without any.
    func percentile(_ share: Double) -> Duration? {
        guard self.count > 0 else { return nil }
        let wanted = Int((Double(self.count) * share).rounded(.up))
        var seen = 0
        for (index, count) in self.counts.enumerated() {
            seen += count
            if seen >= wanted { return .seconds(Self.shortest * exp(Double(index + 1) * Self.growth)) }
        }
        return nil
    }
}

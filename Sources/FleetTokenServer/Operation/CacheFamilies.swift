// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning

/// Two metrics of caches of one kind: how often what they keep was at hand, and was fetched.
struct CacheFamilies {
    private var uses: MetricFamily
    private var fetches: MetricFamily

    /// Both metrics, for a page of them.
    var all: [MetricFamily] { [self.uses, self.fetches] }

    /// Makes the metrics, without numbers.
    ///
    /// - Parameters:
    ///   - name: What the caches keep, as the first part of both names.
    ///   - labels: What tells the caches apart.
    ///   - uses: Tells what was at hand, and what was not.
    ///   - fetches: Tells what was fetched.
    init(_ name: String, labels: [String] = [], uses: String, fetches: String) {
        self.uses = MetricFamily("\(name)_uses_total", .counter, labels: labels + ["result"], help: uses)
        self.fetches = MetricFamily("\(name)_fetches_total", .counter, labels: labels + ["outcome"], help: fetches)
    }

    /// Adds the counts of a cache.
    ///
    /// - Parameters:
    ///   - counts: The counts.
    ///   - labels: Which cache it is.
    mutating func add(_ counts: CacheStatistics, _ labels: String...) {
        self.uses.add(Double(counts.hits), to: labels + ["hit"])
        self.uses.add(Double(counts.misses), to: labels + ["miss"])
        self.fetches.add(Double(counts.fetches - counts.failures), to: labels + ["fetched"])
        self.fetches.add(Double(counts.failures), to: labels + ["failed"])
    }
}

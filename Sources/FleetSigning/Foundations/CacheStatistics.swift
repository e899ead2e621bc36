// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// How often what a cache keeps was at hand, and was fetched.
public struct CacheStatistics: Hashable, Sendable {
    /// Who had a value at once.
    public var hits = 0
    /// Who waited for a fetch, or failed because one had failed a moment ago.
    public var misses = 0
    /// The fetches that ended.
    public var fetches = 0
    /// Those of them that brought nothing.
    public var failures = 0

    /// Makes counts at zero.
    public init() {}

    /// The counts of two caches together.
    ///
    /// - Parameters:
    ///   - one: The counts of one.
    ///   - other: Those of the other.
    /// - Returns: The sum of each.
    public static func + (one: CacheStatistics, other: CacheStatistics) -> CacheStatistics {
        var sum = one
        sum.hits += other.hits
        sum.misses += other.misses
        sum.fetches += other.fetches
        sum.failures += other.failures
        return sum
    }
}

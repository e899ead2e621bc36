// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning
import FleetTokens

/// Turns an address away that sent too many wrong credentials, for as long as the limit says; in bounded memory.
///
/// Whoever shares the address, as behind a proxy, is turned away with it. An IPv6 address counts with the network of 64
/// bits that it belongs to, as that is what one host has.
public final class FailedLoginLimiter: Sendable {
    /// How many addresses are remembered.
    static let capacity = 20_000

    private let limit: RateLimit
    private let time: TimeSource
    private let addresses = Locked(RecentEntries<[UInt8], TokenBucket>(capacity: FailedLoginLimiter.capacity))

    /// Makes a limiter.
    ///
    /// - Parameters:
    ///   - limit: How often an address may fail.
    ///   - clock: What the limit is counted on.
    public init(_ limit: RateLimit, clock: some Clock<Duration> = ContinuousClock()) {
        self.limit = limit
        self.time = TimeSource(clock: clock)
    }

    /// Admits an address that may fail once more.
    ///
    /// - Parameter address: The address; those that are not known are one.
    /// - Throws: ``RateLimitExceeded``.
    func admit(_ address: String?) throws(RateLimitExceeded) {
        let key = AddressRange.host(of: address)
        let wait = self.addresses.withLock { addresses in
            addresses[key]?.wait(at: self.time.uptime, limit: self.limit) ?? .zero
        }
        guard wait == .zero else { throw RateLimitExceeded(scope: .address, retryAfter: wait) }
    }

    /// Takes note of a wrong credential.
    func noteFailure(of address: String?) {
        let key = AddressRange.host(of: address)
        self.addresses.withLock { addresses in
            var bucket = addresses[key] ?? TokenBucket()
            bucket.take(at: self.time.uptime, limit: self.limit)
            addresses[key] = bucket
        }
    }
}

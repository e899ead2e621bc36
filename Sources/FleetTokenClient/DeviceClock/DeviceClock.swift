// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What the phone itself says about the time: its date, which anybody may set, and the time since it was started.
///
/// Neither decides how long a token in memory is used. The date is compared with the token server's
/// (``DeviceClockError``), and both together tell how old a token in a ``TokenStore`` is.
public struct DeviceClock: Sendable {
    private let readDate: @Sendable () -> Date
    private let readSinceBoot: @Sendable () -> Duration

    /// Reads the time by closures, for tests.
    ///
    /// - Parameters:
    ///   - date: The phone's date, right or wrong.
    ///   - sinceBoot: The time since the phone was started, sleep included; it begins again at each start.
    public init(
        date: @escaping @Sendable () -> Date = { Date() },
        sinceBoot: @escaping @Sendable () -> Duration = Self.systemSinceBoot
    ) {
        self.readDate = date
        self.readSinceBoot = sinceBoot
    }

    /// The phone's date.
    public var date: Date { self.readDate() }
    /// The time since the phone was started, sleep included.
    public var sinceBoot: Duration { self.readSinceBoot() }

    /// The system's time since its start, sleep included.
    @Sendable public static func systemSinceBoot() -> Duration {
        var time = timespec()
        #if canImport(Darwin)
            clock_gettime(CLOCK_MONOTONIC_RAW, &time)
        #else
            clock_gettime(CLOCK_BOOTTIME, &time)
        #endif
        return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }
}

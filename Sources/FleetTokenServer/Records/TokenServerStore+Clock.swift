// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

extension TokenServerStore {
    /// How far a machine's clock may be from the database's, in seconds.
    static let clockTolerance: TimeInterval = 5

    /// What this machine's clock and the database's say at one moment.
    struct ClockTimes: Sendable {
        /// This machine's, before and after the database was asked.
        let local: (before: Date, after: Date)
        /// The database's; `nil` where it has none but this machine's.
        let database: Date?

        /// How many seconds this machine is ahead of the database at the least; negative where it is behind.
        var ahead: TimeInterval {
            guard let database else { return 0 }
            let (before, after) = (self.local.before, self.local.after)
            return database < before
                ? before.timeIntervalSince(database) : min(0, after.timeIntervalSince(database))
        }

        /// Whether this machine is too far from the database to be believed beside it.
        var differ: Bool { abs(self.ahead) > TokenServerStore.clockTolerance }
    }

    /// The time that a change is made by: the database's where machines share one, and this machine's for a file.
    ///
    /// - Parameter clock: This machine's clock.
    /// - Returns: The time.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/wrongClock`` where this machine's clock is more than 5
    ///   seconds from the database's, or with ``TokenServerError/Code/storeUnavailable``.
    public func time(
        by clock: @escaping @Sendable () -> Date = { Date() }
    ) async throws(TokenServerError) -> Date {
        let times: ClockTimes
        do {
            times = try await self.clocks(by: clock)
        } catch {
            throw self.unreadable(error)
        }
        guard let database = times.database else { return times.local.after }
        guard !times.differ else {
            throw TokenServerError(
                code: .wrongClock,
                message:
                    "Nothing is changed while this machine's clock, \(APITime.text(times.local.after)), is more than "
                    + "\(Int(Self.clockTolerance)) s from the database's, \(APITime.text(database)); set the one that is "
                    + "wrong, and have NTP keep both.")
        }
        return database
    }

    /// Looks at this machine's clock and the database's.
    ///
    /// - Parameter clock: This machine's clock.
    /// - Returns: What they say.
    /// - Throws: An error of the store.
    func clocks(by clock: @escaping @Sendable () -> Date) async throws -> ClockTimes {
        try await self.database.read { database in
            let before = clock()
            let time = try database.time()
            return ClockTimes(local: (before, clock()), database: time)
        }
    }
}

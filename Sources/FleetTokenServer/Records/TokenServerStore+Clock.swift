// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetPostgreSQL
public import Foundation

extension TokenServerStore {
    /// The time that a change is made by: the database's where machines share one, and this machine's for a file.
    ///
    /// - Parameter clock: This machine's clock.
    /// - Returns: The time.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/wrongClock`` where this machine's clock is more than 5
    ///   seconds from the database's, or with ``TokenServerError/Code/storeUnavailable``,
    ///   ``TokenServerError/Code/storeUnreachable`` or ``TokenServerError/Code/storeReplaced``.
    public func time(
        by clock: @escaping @Sendable () -> Date = { Date() }
    ) async throws(TokenServerError) -> Date {
        let shared: DatabaseClock?
        do {
            shared = try await self.databaseClock(by: clock)
        } catch {
            throw self.unreadable(error)
        }
        guard let shared else { return clock() }
        guard shared.problem == nil else {
            throw TokenServerError(
                code: .wrongClock,
                message:
                    "Nothing is changed while this machine's clock, \(APITime.text(shared.local.after)), is more than "
                    + "\(Int(DatabaseClock.tolerance)) s from the database's, \(APITime.text(shared.database)); set the one "
                    + "that is wrong, and have NTP keep both.")
        }
        return shared.database
    }

    /// Looks at this machine's clock and the database's.
    ///
    /// - Parameter clock: This machine's clock.
    /// - Returns: What they say; `nil` where the database has no clock but this machine's.
    /// - Throws: An error of the store.
    func databaseClock(by clock: @escaping @Sendable () -> Date) async throws -> DatabaseClock? {
        try await self.database.read { database in
            let before = clock()
            return try database.time().map { DatabaseClock(local: (before, clock()), database: $0) }
        }
    }
}

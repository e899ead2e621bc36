// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import Foundation

/// What this machine's clock and a shared database's said at one moment.
package struct DatabaseClock: Sendable {
    /// How far a machine's clock may be from the database's, in seconds.
    package static let tolerance: TimeInterval = 5

    /// This machine's, before and after the database was asked.
    package let local: (before: Date, after: Date)
    /// The database's.
    package let database: Date

    /// Describes the clocks.
    package init(local: (before: Date, after: Date), database: Date) {
        self.local = local
        self.database = database
    }

    /// How many seconds this machine is ahead of the database at the least; negative where it is behind.
    package var ahead: TimeInterval {
        let (before, after) = self.local
        return self.database < before
            ? before.timeIntervalSince(self.database) : min(0, after.timeIntervalSince(self.database))
    }

    /// Why this machine is not to be believed beside the database; `nil` where it is.
    package var problem: String? {
        guard abs(self.ahead) > Self.tolerance else { return nil }
        let seconds = Int(abs(self.ahead).rounded())
        return "the clock is \(seconds) s \(self.ahead > 0 ? "ahead of" : "behind") the database's"
    }
}

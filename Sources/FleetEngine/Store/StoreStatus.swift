// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What a database that machines share says of itself.
struct StoreStatus: Hashable, Sendable {
    /// What time it is there.
    let time: Date
    /// Whether it takes changes; a standby takes none.
    let takesChanges: Bool
}

extension EngineStore {
    /// A store of this machine's own serves if it can be read, and has no clock but the machine's.
    func status() async throws -> StoreStatus? {
        try await self.read { _ -> StoreStatus? in nil }
    }
}

/// What this machine's clock and a shared database's say at one moment.
struct StoreClocks: Sendable {
    /// How far a machine's clock may be from the database's, in seconds.
    static let tolerance: TimeInterval = 5

    /// This machine's, before and after the database was asked.
    let local: (before: Date, after: Date)
    /// The database's.
    let database: Date

    /// How many seconds this machine is ahead of the database at the least; negative where it is behind.
    var ahead: TimeInterval {
        let (before, after) = self.local
        return self.database < before
            ? before.timeIntervalSince(self.database) : min(0, after.timeIntervalSince(self.database))
    }

    /// Why this machine is not to be believed beside the database; `nil` where it is.
    var problem: String? {
        guard abs(self.ahead) > Self.tolerance else { return nil }
        let seconds = Int(abs(self.ahead).rounded())
        return "the clock is \(seconds) s \(self.ahead > 0 ? "ahead of" : "behind") the database's"
    }
}

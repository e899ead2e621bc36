// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// What stands for a resource in its table.
struct SQLiteRow: Sendable {
    let number: Int64
    let place: IndexedPlace?
    /// What spares writing all of the resource again, where it was written lately.
    var lastingBytes: LastingBytes?
}

/// The rows that groups of writes looked for lately, `nil` for what is absent.
///
/// Whoever leaves a transaction without its commit must have all forgotten.
final class SQLiteRows: Sendable {
    private static let limit = 16 * 1024

    private let rows = Locked<[ResourceKey: SQLiteRow?]>([:])

    subscript(key: ResourceKey) -> SQLiteRow?? {
        get { self.rows.withLock { $0[key] } }
        set {
            self.rows.withLock { rows in
                if rows.count >= Self.limit { rows.removeAll() }
                rows[key] = newValue
            }
        }
    }

    /// Forgets everything.
    func forget() { self.rows.withLock { $0.removeAll() } }
}

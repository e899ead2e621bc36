// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// How long is waited for PostgreSQL.
package struct PostgreSQLLimits: Hashable, Sendable {
    /// For a connection, by all hosts of an address together: each gets its share in whole seconds, two at least,
    /// unless the address says how long with `connect_timeout`.
    package var connect: Duration
    /// For the answer to one statement, or to one pipeline of them.
    package var statement: Duration
    /// For a row that another transaction holds.
    package var lock: Duration
    /// How much may wait for a connection of a pool.
    package var waiting: Int

    /// Short enough that a caller of a service is answered.
    package init(
        connect: Duration = .seconds(5), statement: Duration = .seconds(15), lock: Duration = .seconds(5),
        waiting: Int = 16 * 1024
    ) {
        self.connect = connect
        self.statement = statement
        self.lock = lock
        self.waiting = waiting
    }
}

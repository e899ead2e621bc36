// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// How long is waited for PostgreSQL.
public struct PostgreSQLLimits: Hashable, Sendable {
    /// For a connection, by all hosts of an address together: each gets its share in whole seconds, two at least,
    /// unless the address says how long with `connect_timeout`.
    public var connect: Duration
    /// For the answer to one statement, or to one pipeline of them.
    public var statement: Duration
    /// For a row that another transaction holds.
    public var lock: Duration
    /// How much may wait for a connection of a pool.
    public var waiting: Int

    /// Short enough that a caller of a service is answered.
    public init(
        connect: Duration = .seconds(5), statement: Duration = .seconds(15), lock: Duration = .seconds(5),
        waiting: Int = 16 * 1024
    ) {
        self.connect = connect
        self.statement = statement
        self.lock = lock
        self.waiting = waiting
    }
}

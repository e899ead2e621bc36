// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A statement with its parameters, `$1` and up.
package struct PostgreSQLStatement: Sendable {
    /// The text.
    package var sql: String
    /// The parameters.
    package var values: [PostgreSQLValue]
    /// Whether the server is to keep it prepared, for statements that come again and again.
    package var isPrepared: Bool

    /// Describes a statement that comes again and again.
    package init(_ sql: String, _ values: [PostgreSQLValue] = []) {
        self.sql = sql
        self.values = values
        self.isPrepared = true
    }

    /// Describes a statement that comes once, or that the server does not plan.
    ///
    /// - Parameters:
    ///   - sql: The text.
    ///   - values: The parameters.
    /// - Returns: The statement.
    package static func once(_ sql: String, _ values: [PostgreSQLValue] = []) -> Self {
        var statement = Self(sql, values)
        statement.isPrepared = false
        return statement
    }
}

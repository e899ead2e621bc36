// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A statement with its parameters, `$1` and up.
public struct PostgreSQLStatement: Sendable {
    /// The text.
    public var sql: String
    /// The parameters.
    public var values: [PostgreSQLValue]
    /// Whether the server is to keep it prepared, for statements that come again and again.
    public var isPrepared: Bool

    /// Describes a statement that comes again and again.
    public init(_ sql: String, _ values: [PostgreSQLValue] = []) {
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
    public static func once(_ sql: String, _ values: [PostgreSQLValue] = []) -> Self {
        var statement = Self(sql, values)
        statement.isPrepared = false
        return statement
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Logging

/// The tables of a store, for all pools that use them: once they were seen, none are made in their place.
///
/// Whoever connects again may find another database under the same address, or an emptied one. New tables there would
/// answer as if nothing had ever been stored or withdrawn, and stand in the way of a backup.
package final class PostgreSQLTables: Sendable {
    /// Who makes tables that are missing, and brings older ones up to date.
    package enum Maker: Sendable {
        /// The first connection does.
        case firstConnection
        /// Another program does, and they are left as they are.
        case another
    }

    private let schema: PostgreSQLSchema
    private let maker: Maker
    private let wereSeen = Locked(false)

    /// Describes the tables; nothing is looked at yet.
    ///
    /// - Parameters:
    ///   - schema: What they are, and how they came to be.
    ///   - maker: Who makes them.
    package init(_ schema: PostgreSQLSchema, madeBy maker: Maker = .firstConnection) {
        self.schema = schema
        self.maker = maker
    }

    /// Has a new session use the tables.
    ///
    /// - Parameters:
    ///   - session: The session, outside a transaction.
    ///   - logger: Hears when tables were made or changed.
    /// - Throws: ``PostgreSQLError``, with ``PostgreSQLError/Code/wrongSchema`` for tables that are gone, or that only
    ///   another program makes or brings up to date.
    func prepare(_ session: PostgreSQLSession, logger: Logger) throws(PostgreSQLError) {
        let wereSeen = self.wereSeen.withLock { $0 }
        if wereSeen || self.maker == .another {
            switch try self.schema.state(session) {
            case .current: return self.wereSeen.withLock { $0 = true }
            case .missing where wereSeen:
                throw PostgreSQLError(
                    code: .wrongSchema,
                    message: "The tables of the \(self.schema.part) were there and are gone: this is another database, "
                        + "or one that was emptied. Put them back, or restart the server that makes them, to begin "
                        + "without what they held.")
            case .behind where self.maker == .firstConnection: break
            case .missing, .behind:
                throw PostgreSQLError(
                    code: .wrongSchema,
                    message: "The tables of the \(self.schema.part) are missing, or of an older version; start "
                        + "their server in this version, which makes them and brings them up to date.")
            }
        }
        if try self.schema.migrate(session) {
            logger.notice(
                "tables were made or brought up to date in PostgreSQL", metadata: ["part": "\(self.schema.part)"])
        }
        self.wereSeen.withLock { $0 = true }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// An error from PostgreSQL, or from the way to it.
package struct PostgreSQLError: Error, Sendable, CustomStringConvertible {
    /// What went wrong, in terms a caller can act on.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Wrapped: String {
            case invalidAddress, unreachable, refused, connectionLost, timedOut, conflict, overloaded, closed
            case wrongSchema, serverFailed, statementFailed
        }
        private let wrapped: Wrapped
        private init(_ wrapped: Wrapped) { self.wrapped = wrapped }
        /// The bounded name, fit for a metric label.
        package var description: String { self.wrapped.rawValue }

        /// The address is none, or an option has a value that it cannot have or that the server at the other end does
        /// not go with; mend it, a retry cannot help.
        package static let invalidAddress = Self(.invalidAddress)
        /// No server answers; may be retried.
        package static let unreachable = Self(.unreachable)
        /// The server lets this user or database not in; mend the address or the server's settings.
        package static let refused = Self(.refused)
        /// The connection broke; whether what was under way took place is unknown.
        package static let connectionLost = Self(.connectionLost)
        /// The server did not answer in time; whether what was under way took place is unknown.
        package static let timedOut = Self(.timedOut)
        /// Another transaction was in the way; nothing took place, run the whole transaction again.
        package static let conflict = Self(.conflict)
        /// Too much waits for a connection already; may be retried.
        package static let overloaded = Self(.overloaded)
        /// The pool was closed.
        package static let closed = Self(.closed)
        /// The tables are of a newer version or missing, or not to be made or used by this user; see the message.
        package static let wrongSchema = Self(.wrongSchema)
        /// The server is in no state for a statement, as when its disk is full or it can only be read; may be retried.
        package static let serverFailed = Self(.serverFailed)
        /// The server refused a statement; a retry cannot help.
        package static let statementFailed = Self(.statementFailed)
    }

    /// The kind of failure.
    package var code: Code
    /// What failed and how to fix it, without secrets.
    package var message: String
    /// The server's five-character code, where it gave one.
    package var sqlState: String?
    /// Code and message on one line.
    package var description: String { "\(self.code): \(self.message)" }

    /// Makes an error.
    package init(code: Code, message: String, sqlState: String? = nil) {
        self.code = code
        self.message = message
        self.sqlState = sqlState
    }

    /// Whether the same statement may succeed later without a change to the program or its tables.
    package var mayPass: Bool {
        switch self.code {
        case .invalidAddress, .wrongSchema, .statementFailed: false
        default: true
        }
    }

    /// Whether the server is away, busy or in no state for it now, rather than anything of the address, the rights or
    /// the tables to be mended.
    package var isOutage: Bool { self.mayPass && self.code != .refused }

    /// Whether what was under way may have taken place, or not.
    package var leavesOutcomeOpen: Bool { [.connectionLost, .timedOut].contains(self.code) }

    /// Whether it is the server that says so.
    var isAnswered: Bool { self.sqlState != nil }

    /// The error of a statement, by the server's code.
    ///
    /// - Parameters:
    ///   - sqlState: The server's code.
    ///   - message: What the server says, in its language.
    ///   - function: The function of the server that says it.
    init(sqlState: String, message: String, function: String? = nil) {
        let code: Code =
            switch sqlState {
            // Serialization failure, deadlock, lock not available, unique violation.
            case "40001", "40P01", "55P03", "23505": .conflict
            // Statement cancelled by its time limit, idle transaction ended.
            case "57014", "25P03": .timedOut
            // Shutdown by an administrator, crash of another process, starting up.
            case "57P01", "57P02", "57P03": .connectionLost
            // Only reading allowed, prepared statement gone.
            case "25006", "26000": .serverFailed
            // A right or a table is missing.
            case "42501", "42P01": .wrongSchema
            // A prepared statement whose columns changed, or what the server cannot do at all.
            case "0A000": function == "RevalidateCachedQuery" ? .serverFailed : .statementFailed
            default:
                switch sqlState.prefix(2) {
                case "08": .connectionLost
                // No resources left, intervention by an operator, system error, internal error.
                case "53", "57", "58", "XX": .serverFailed
                default: .statementFailed
                }
            }
        var told = "PostgreSQL says: \(message) (\(sqlState))"
        // A connection of one's own has the prepared statements that one made there, and no others.
        if ["26000", "42P05"].contains(sqlState) { told += ". \(Self.adviceOnPoolers)" }
        self.init(code: code, message: told, sqlState: sqlState)
    }

    /// What to do where statements arrive on other connections than those before them.
    static let adviceOnPoolers =
        "A pooler that changes connections between transactions cannot stand in between; let it give each client a "
        + "connection of its own (session mode), or name the server itself."

    /// The error on a connection on which the tables were found before: that one is missing has two reasons then.
    var missingWhatWasFound: Self {
        guard self.sqlState == "42P01" else { return self }
        var error = self
        error.message += ". It was removed, or this is another connection than before. \(Self.adviceOnPoolers)"
        return error
    }

    /// Whether the connection cannot be used any more, or only a new one can help.
    var endsSession: Bool {
        switch self.code {
        case .connectionLost, .timedOut: true
        case .serverFailed: ["25006", "26000", "0A000"].contains(self.sqlState)
        default: false
        }
    }
}

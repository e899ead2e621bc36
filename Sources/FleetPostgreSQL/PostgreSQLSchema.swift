// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// The tables of one part of the program, and how they came to be: a list of steps that only ever grows at its end.
///
/// All tables are in the schema `fleetpass`; what was done is noted in its table `version`. An advisory lock keeps nodes that start together from doing a
/// step twice; each step is done whole or not at all.
package struct PostgreSQLSchema: Sendable {
    /// The statements of one step.
    package typealias Step = [String]

    /// The part's name.
    let part: String
    private let steps: [Step]

    /// Describes the tables.
    ///
    /// - Parameters:
    ///   - part: The part's name.
    ///   - steps: The steps, the first first.
    package init(part: String, steps: [Step]) {
        self.part = part
        self.steps = steps
    }

    /// Brings the tables up to date.
    ///
    /// - Parameter session: A session outside a transaction.
    /// - Returns: Whether there was something to do.
    /// - Throws: ``PostgreSQLError``.
    func migrate(_ session: PostgreSQLSession) throws(PostgreSQLError) -> Bool {
        try Self.advising(session) {
            try session.query(.once("SELECT set_config('search_path', 'fleetpass', false)"))
            // Tables that are there may be a copy, in a database made otherwise than theirs was.
            try session.checkEncoding()
            // Most connections find everything done, and need no lock for it.
            if try self.version(session) == self.steps.count { return false }
            return try session.transaction {
                // A name for the lock, the bytes of "fleetpas".
                try session.query(.once("SELECT pg_advisory_xact_lock(7380385375773024627)"))
                if try session.query(.once("SELECT to_regnamespace('fleetpass') IS NULL")).first?.bool(0) == true {
                    try session.query(.once("CREATE SCHEMA fleetpass"))
                }
                try session.query(
                    .once("CREATE TABLE IF NOT EXISTS version (part text PRIMARY KEY, version bigint NOT NULL)"))
                let version = try self.version(session)
                guard version < self.steps.count else { return false }
                for step in self.steps[version...] {
                    try session.pipeline(step.map { .once($0) })
                }
                try session.query(
                    .once(
                        """
                        INSERT INTO version VALUES ($1, $2)
                        ON CONFLICT (part) DO UPDATE SET version = excluded.version
                        """, [.text(self.part), .integer(Int64(self.steps.count))]))
                return true
            }
        }
    }

    /// Runs a body, and tells what to do where the user lacks a right for it.
    private static func advising<Result>(
        _ session: PostgreSQLSession, _ body: () throws -> Result
    ) throws(PostgreSQLError) -> Result {
        do {
            return try body()
        } catch let error as PostgreSQLError where error.sqlState == "42501" {
            throw PostgreSQLError(
                code: .wrongSchema, message: "\(error.message). \(Self.advice(on: session))", sqlState: error.sqlState)
        } catch let error as PostgreSQLError {
            throw error
        } catch {
            throw PostgreSQLError(code: .statementFailed, message: "\(error)")
        }
    }

    /// What to do where the user lacks a right.
    private static func advice(on session: PostgreSQLSession) -> String {
        let isThere = try? session.query(.once("SELECT to_regnamespace('fleetpass') IS NOT NULL")).first?.bool(0)
        guard isThere == true else {
            return "Let the user create schemas in the database, or run CREATE SCHEMA fleetpass AUTHORIZATION for it."
        }
        return "Let the user own the schema fleetpass and its tables, or grant it USAGE and CREATE on the schema, and "
            + "SELECT, INSERT, UPDATE and DELETE on all tables in it."
    }

    /// Whether the tables are there, looked at without changing anything.
    package enum State: Hashable, Sendable {
        /// There are none; the first use makes them.
        case missing
        /// They are of an older version; the first use updates them.
        case behind
        /// They are as this program wants them.
        case current
    }

    /// Looks at the tables, and changes nothing.
    ///
    /// - Parameter session: A session outside a transaction.
    /// - Returns: Whether they are there.
    /// - Throws: ``PostgreSQLError``, with ``PostgreSQLError/Code/wrongSchema`` for those of a newer version, or a
    ///   database that cannot hold them.
    package func state(_ session: PostgreSQLSession) throws(PostgreSQLError) -> State {
        try Self.advising(session) {
            try session.query(.once("SELECT set_config('search_path', 'fleetpass', false)"))
            try session.checkEncoding()
            let version = try self.version(session)
            guard version < self.steps.count else { return .current }
            return version == 0 ? .missing : .behind
        }
    }

    private func version(_ session: PostgreSQLSession) throws(PostgreSQLError) -> Int {
        let exists = try session.query(.once("SELECT to_regclass('fleetpass.version') IS NOT NULL")).first?.bool(0)
        guard exists == true else { return 0 }
        session.hasFoundTables = true
        let rows = try session.query(
            .once("SELECT version FROM version WHERE part = $1", [.text(self.part)]))
        let version = Int(try rows.first?.integer(0) ?? 0)
        guard (0...self.steps.count).contains(version) else {
            throw PostgreSQLError(
                code: .wrongSchema,
                message: "The tables of the \(self.part) are of version \(version), and this program knows "
                    + "\(self.steps.count); run the newer program, or name another database.")
        }
        return version
    }
}

extension PostgreSQLSession {
    /// Fails where the database cannot hold every text.
    fileprivate func checkEncoding() throws(PostgreSQLError) {
        let encoding = self.setting("server_encoding")
        guard encoding == "UTF8" else {
            throw PostgreSQLError(
                code: .wrongSchema,
                message: "The database keeps text in \(encoding ?? "?"), not in UTF8; make one with "
                    + "createdb --encoding UTF8 --template template0.")
        }
    }
}

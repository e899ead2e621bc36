// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import CLibPQ

/// A connection in use: statements, pipelines and transactions, on one thread.
///
/// Calls wait for the server's answer; that is why a session is handed out on a thread of its pool only.
package final class PostgreSQLSession {
    private let connection: PostgreSQLConnection
    private let limits: PostgreSQLLimits
    private var prepared: [String: String] = [:]
    /// What ended the use of the connection; answers to what was sent before may still be on their way.
    private var ending: PostgreSQLError?
    private var isGivenUp = false
    /// Whether the tables were found on this connection, so that one that is not there any more needs an explanation.
    var hasFoundTables = false

    init(
        _ address: PostgreSQLAddress, _ limits: PostgreSQLLimits, listener: any AnswerListening
    ) throws(PostgreSQLError) {
        self.connection = try PostgreSQLConnection(address, within: limits.connect, listener: listener)
        self.limits = limits
        let settings: [PostgreSQLStatement] = [
            .once("SELECT set_config('statement_timeout', $1, false)", [.text("\(limits.statement.milliseconds)ms")]),
            .once("SELECT set_config('lock_timeout', $1, false)", [.text("\(limits.lock.milliseconds)ms")]),
            // A node that vanished must not hold its rows until TCP gives up.
            .once(
                "SELECT set_config('idle_in_transaction_session_timeout', $1, false)",
                [.text("\(limits.statement.milliseconds)ms")]),
            // Whoever waited for a row goes on with what it is then, whatever the server's default is.
            .once("SELECT set_config('default_transaction_isolation', 'read committed', false)"),
            // What is acknowledged must be on the disk; a stricter setting of the server is kept.
            .once(
                "SELECT set_config('synchronous_commit', 'on', false) "
                    + "WHERE current_setting('synchronous_commit') = 'off'"),
        ]
        try self.pipeline(settings, within: limits.connect)
    }

    /// Whether the connection is to be replaced after this use.
    var isBroken: Bool { self.isGivenUp || self.ending != nil }

    /// Whether the session can take another job.
    var isUsable: Bool {
        !self.isBroken && self.connection.isAlive && PQtransactionStatus(self.connection.raw) == PQTRANS_IDLE
    }

    /// What the connection leaves open to whoever is on the way to the server, if anybody is.
    var exposure: PostgreSQLExposure? { self.connection.exposure }

    /// A setting that the server tells every client of when it connects; `nil` for one that it does not tell.
    func setting(_ name: String) -> String? { PQparameterStatus(self.connection.raw, name).map { String(cString: $0) } }

    /// Runs one statement.
    ///
    /// - Parameters:
    ///   - sql: The statement, which the server keeps prepared.
    ///   - values: Its parameters.
    /// - Returns: The rows.
    /// - Throws: ``PostgreSQLError``.
    @discardableResult
    package func query(_ sql: String, _ values: [PostgreSQLValue] = []) throws(PostgreSQLError) -> PostgreSQLRows {
        try self.query(PostgreSQLStatement(sql, values))
    }

    /// Runs one statement.
    ///
    /// - Parameter statement: The statement.
    /// - Returns: The rows.
    /// - Throws: ``PostgreSQLError``.
    @discardableResult
    package func query(_ statement: PostgreSQLStatement) throws(PostgreSQLError) -> PostgreSQLRows {
        guard let rows = try self.pipeline([statement]).first else { throw self.connection.lost }
        return rows
    }

    /// Sends statements together and then reads their answers: one round trip for all of them.
    ///
    /// The first that fails keeps those after it from being run. After an error that ends the connection's use, such as no
    /// answer in time, nothing is sent any more, and each call throws that error.
    ///
    /// - Parameter statements: The statements.
    /// - Returns: The rows of each.
    /// - Throws: ``PostgreSQLError`` of the first that failed.
    @discardableResult
    package func pipeline(_ statements: [PostgreSQLStatement]) throws(PostgreSQLError) -> [PostgreSQLRows] {
        // The server ends what takes too long; what it does not tell of within a second is given up.
        try self.pipeline(statements, within: self.limits.statement + .seconds(1))
    }

    @discardableResult
    private func pipeline(
        _ statements: [PostgreSQLStatement], within limit: Duration
    ) throws(PostgreSQLError) -> [PostgreSQLRows] {
        // Answers that nobody read would be taken for those to these statements.
        if let ending { throw ending }
        let deadline = ContinuousClock.now + limit
        do throws(PostgreSQLError) {
            var preparing: [String: String] = [:]
            var steps: [Step] = []
            for statement in statements { try self.send(statement, &preparing, &steps) }
            guard PQpipelineSync(self.connection.raw) == 1 else { throw self.connection.lost }
            try self.connection.flush(until: deadline)
            return try self.receive(steps, until: deadline)
        } catch {
            if error.endsSession { self.ending = error }
            // A commit that waits for a standby does not notice that its connection ends, and keeps its locks. Before the
            // caller is told, as the program may end then.
            if error.code == .timedOut, !error.isAnswered { self.connection.cancel(within: .seconds(1)) }
            throw self.hasFoundTables ? error.missingWhatWasFound : error
        }
    }

    /// Runs a body between `BEGIN` and `COMMIT`, or `ROLLBACK` when it throws.
    ///
    /// - Parameters:
    ///   - mode: What follows `BEGIN`, such as `ISOLATION LEVEL REPEATABLE READ READ ONLY`.
    ///   - body: The body.
    /// - Returns: What the body returns.
    /// - Throws: ``PostgreSQLError``, or what the body throws.
    package func transaction<Result>(_ mode: String = "", _ body: () throws -> Result) throws -> Result {
        try self.query(.once("BEGIN \(mode)"))
        do {
            let result = try body()
            try self.query(.once("COMMIT"))
            return result
        } catch {
            self.rollBack()
            throw error
        }
    }

    /// Ends a transaction without its changes, if one is open; a connection that cannot is given up.
    package func rollBack() {
        guard !self.isBroken, PQtransactionStatus(self.connection.raw) != PQTRANS_IDLE else { return }
        do throws(PostgreSQLError) {
            try self.query(.once("ROLLBACK"))
        } catch {
            self.ending = error
        }
    }

    /// Has the connection replaced after this use, as what it found out about its server may not hold for a new one.
    package func giveUp() { self.isGivenUp = true }
}

extension PostgreSQLSession {
    /// What an answer is awaited for.
    private enum Step {
        case preparation(sql: String, name: String)
        case statement
    }

    private func send(
        _ statement: PostgreSQLStatement, _ preparing: inout [String: String], _ steps: inout [Step]
    ) throws(PostgreSQLError) {
        let types = statement.values.map(\.type)
        let count = Int32(clamping: types.count)
        var name = self.prepared[statement.sql] ?? preparing[statement.sql]
        if statement.isPrepared, name == nil {
            let new = "s\(self.prepared.count + preparing.count)"
            guard PQsendPrepare(self.connection.raw, new, statement.sql, count, types) == 1 else {
                throw self.connection.lost
            }
            preparing[statement.sql] = new
            steps.append(.preparation(sql: statement.sql, name: new))
            name = new
        }
        let isSent = Self.withParameters(statement.values) { values, lengths, formats in
            if statement.isPrepared, let name {
                PQsendQueryPrepared(self.connection.raw, name, count, values, lengths, formats, 1)
            } else {
                PQsendQueryParams(self.connection.raw, statement.sql, count, types, values, lengths, formats, 1)
            }
        }
        guard isSent == 1 else { throw self.connection.lost }
        steps.append(.statement)
    }

    private func receive(
        _ steps: [Step], until deadline: ContinuousClock.Instant
    ) throws(PostgreSQLError) -> [PostgreSQLRows] {
        var answers: [PostgreSQLRows] = []
        var failure: PostgreSQLError?
        for step in steps {
            while let result = try self.connection.nextResult(until: deadline) {
                let rows = PostgreSQLRows(result)
                switch (PQresultStatus(result), step) {
                case (PGRES_COMMAND_OK, .preparation(let sql, let name)): self.prepared[sql] = name
                case (PGRES_COMMAND_OK, .statement), (PGRES_TUPLES_OK, .statement): answers.append(rows)
                case (PGRES_PIPELINE_ABORTED, _): break
                default: failure = failure ?? Self.error(result)
                }
            }
        }
        guard let end = try self.connection.nextResult(until: deadline) else { throw self.connection.lost }
        defer { PQclear(end) }
        guard PQresultStatus(end) == PGRES_PIPELINE_SYNC else { throw failure ?? self.connection.lost }
        if let failure { throw failure }
        return answers
    }

    private static func error(_ result: OpaquePointer) -> PostgreSQLError {
        func field(_ code: Character) -> String? {
            PQresultErrorField(result, Int32(code.asciiValue ?? 0)).map { String(cString: $0) }
        }
        // The detail may repeat values of rows, so it is left out.
        guard let state = field("C"), let message = field("M") else {
            return PostgreSQLError(
                code: .connectionLost,
                message: "The connection to PostgreSQL broke: "
                    + String(cString: PQresultErrorMessage(result)).split(whereSeparator: \.isNewline).joined(
                        separator: " "))
        }
        return PostgreSQLError(sqlState: state, message: message, function: field("R"))
    }

    private static func withParameters<Result>(
        _ values: [PostgreSQLValue],
        _ body: (
            UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?
        ) -> Result
    ) -> Result {
        guard !values.isEmpty else { return body(nil, nil, nil) }
        var bytes: [UInt8] = []
        var places: [Range<Int>?] = []
        for value in values {
            let start = bytes.count
            places.append(value.encode(into: &bytes) ? start..<bytes.count : nil)
        }
        // An empty value still needs an address; none means NULL.
        bytes.append(0)
        let lengths = places.map { Int32(clamping: $0?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: values.count)
        return bytes.withUnsafeBytes { buffer in
            let start = buffer.bindMemory(to: CChar.self).baseAddress
            return body(places.map { $0.flatMap { start?.advanced(by: $0.lowerBound) } }, lengths, formats)
        }
    }
}

extension Duration {
    var milliseconds: Int64 { self.components.seconds * 1000 + self.components.attoseconds / 1_000_000_000_000_000 }
}

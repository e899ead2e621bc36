// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FleetPostgreSQL
import Foundation
import Logging
import PostgreSQLTestSupport
import Testing

@Suite(
    .enabled(if: PostgreSQLServer.isInstalled, Comment(rawValue: PostgreSQLServer.absence)), .timeLimit(.minutes(5)))
struct PostgreSQLPoolTests {
    private func pool(
        connections: Int = 2, _ limits: PostgreSQLLimits = PostgreSQLLimits(), schema: PostgreSQLSchema? = nil
    ) async throws -> PostgreSQLPool {
        PostgreSQLPool(
            try PostgreSQLAddress(try await PostgreSQLServer.shared().makeDatabase()), connections: connections,
            limits: limits, tables: schema.map { PostgreSQLTables($0) }, logger: .silent)
    }

    private func error(_ body: () async throws -> some Any) async throws -> PostgreSQLError {
        try await #require(throws: PostgreSQLError.self) { _ = try await body() }
    }

    @Test func `values come back as they were sent`() async throws {
        let pool = try await self.pool()
        try await pool.run { session in
            let row = try #require(
                try session.query(
                    "SELECT $1, $2, $3, $4, $5::text, $6::float8 = 0.25",
                    [.bool(true), .integer(.min), .text("ä\u{1F69A}"), .bytes([0, 255, 10]), .null, .double(0.25)]
                ).first)
            #expect(try row.bool(0))
            #expect(try row.integer(1) == .min)
            #expect(try row.text(2) == "ä\u{1F69A}")
            #expect(try row.bytes(3) == [0, 255, 10])
            #expect(try row.optionalText(4) == nil)
            #expect(try row.bool(5))
            #expect(throws: PostgreSQLError.self) { try row.integer(0) }
        }
        await pool.close()
    }

    @Test(arguments: ["repeatable read", "serializable"])
    func `whoever waited for a row sees what it is then, whatever the server's default is`(
        isolation: String
    ) async throws {
        let address = try await PostgreSQLServer.shared().makeDatabase()
        func pool() throws -> PostgreSQLPool {
            PostgreSQLPool(try PostgreSQLAddress(address), connections: 1, logger: .silent)
        }
        let before = try pool()
        try await before.run { session in
            let name = try session.query(.once("SELECT current_database()"))[0].text(0)
            try session.query(
                .once("ALTER DATABASE \"\(name)\" SET default_transaction_isolation = '\(isolation)'"))
        }
        await before.close()
        let after = try pool()
        let read = try await after.run { session in
            let (default_, own) = (
                try session.query(
                    .once("SELECT reset_val FROM pg_settings WHERE name = 'default_transaction_isolation'")),
                try session.query(.once("SHOW transaction_isolation"))
            )
            return (try default_[0].text(0), try own[0].text(0))
        }
        #expect(read == (isolation, "read committed"))
        await after.close()
    }

    @Test func `arrays come apart into rows`() async throws {
        let pool = try await self.pool()
        let lines = try await pool.run { session in
            let rows = try session.query(
                "SELECT i, t, b, d::text, o FROM unnest($1, $2, $3, $4, $5) AS r (i, t, b, d, o)",
                [
                    .integers([1, -2]), .texts(["a", nil]), .byteArrays([[], [7]]), .doubles([nil, 1.5]),
                    .bools([true, false]),
                ])
            return try (0..<rows.count).map { number in
                let row = rows[number]
                return "\(try row.integer(0)) \(try row.optionalText(1) ?? "-") \(try row.bytes(2)) "
                    + "\(try row.optionalText(3) ?? "-") \(try row.bool(4))"
            }
        }
        #expect(lines == ["1 a [] - true", "-2 - [7] 1.5 false"])
        let none = try await pool.run { try $0.query("SELECT * FROM unnest($1)", [.texts([])]).count }
        #expect(none == 0)
        await pool.close()
    }

    @Test func `a pipeline answers each statement, and stops at the first that fails`() async throws {
        let pool = try await self.pool(connections: 1)
        try await pool.run { session in
            try session.query(.once("CREATE TABLE thing (id bigint PRIMARY KEY)"))
            let insert = { (id: Int64) in PostgreSQLStatement("INSERT INTO thing VALUES ($1)", [.integer(id)]) }
            let changed = try session.pipeline([.once("BEGIN"), insert(1), insert(2), .once("COMMIT")]).map(\.changed)
            #expect(changed == [0, 1, 1, 0])
            let error = try #require(throws: PostgreSQLError.self) {
                try session.pipeline([.once("BEGIN"), insert(3), insert(2), insert(4), .once("COMMIT")])
            }
            #expect(error.code == .conflict)
            #expect(error.sqlState == "23505")
            #expect(!error.description.contains("(2)"))
            session.rollBack()
            #expect(try session.query("SELECT count(*) FROM thing").first?.integer(0) == 2)
            // The statement that the failed pipeline prepared first is still of use.
            #expect(try session.query("INSERT INTO thing VALUES ($1)", [.integer(5)]).changed == 1)
        }
        await pool.close()
    }

    @Test func `a pipeline larger than both sides' buffers goes through`() async throws {
        let pool = try await self.pool(connections: 1)
        let text = String(repeating: "x", count: 100_000)
        let total = try await pool.run { session in
            try session.pipeline((0..<200).map { _ in PostgreSQLStatement("SELECT $1", [.text(text)]) })
                .reduce(0) { try $0 + ($1.first?.text(0).utf8.count ?? 0) }
        }
        #expect(total == 20_000_000)
        await pool.close()
    }

    @Test func `a body that throws leaves nothing, and the connection serves on`() async throws {
        struct Refused: Error {}
        let pool = try await self.pool(connections: 1)
        try await pool.run { _ = try $0.query(.once("CREATE TABLE thing (id bigint PRIMARY KEY)")) }
        await #expect(throws: Refused.self) {
            try await pool.run { session in
                try session.transaction {
                    try session.query("INSERT INTO thing VALUES (1)")
                    throw Refused()
                }
            }
        }
        // One that forgot its transaction open harms nobody either.
        try await pool.run { session in
            try session.query(.once("BEGIN"))
            try session.query("INSERT INTO thing VALUES (2)")
        }
        let count = try await pool.run { try $0.query("SELECT count(*) FROM thing").first?.integer(0) }
        #expect(count == 0)
        await pool.close()
    }

    @Test func `a connection that the server ended is made again, unnoticed`() async throws {
        let pool = try await self.pool(connections: 1)
        let other = PostgreSQLPool(pool.address, connections: 1, logger: .silent)
        let process = try await pool.run { try $0.query("SELECT pg_backend_pid()::bigint").first?.integer(0) }
        let victim = try #require(process)
        // The answer comes once the other is gone.
        _ = try await other.run { session in
            try session.query("SELECT pg_terminate_backend($1::int, 5000)", [.integer(victim)]).count
        }
        let next = try await pool.run { try $0.query("SELECT pg_backend_pid()::bigint").first?.integer(0) }
        #expect(next != victim)
        await other.close()
        await pool.close()
    }

    @Test func `a connection that is given up serves to the end of its use, and is made again`() async throws {
        let pool = try await self.pool(connections: 1)
        let backend = "SELECT pg_backend_pid()::bigint"
        let first = try await pool.run { session in
            session.giveUp()
            return try session.query(backend).first?.integer(0)
        }
        let next = try await pool.run { try $0.query(backend).first?.integer(0) }
        #expect(first != next)
        #expect(try await pool.run { try $0.query(backend).first?.integer(0) } == next)
        await pool.close()
    }

    @Test func `a server that is gone is told at once, and found again when it is back`() async throws {
        let server = try PostgreSQLServer()
        defer { try? server.stop() }
        let pool = PostgreSQLPool(
            try PostgreSQLAddress(try await server.makeDatabase()), connections: 2, logger: .silent)
        try await pool.run { _ = try $0.query("SELECT 1") }
        try server.restart()
        var answer: Int64?
        for _ in 0..<100 where answer == nil {
            answer = try? await pool.run { try $0.query("SELECT 7::bigint").first?.integer(0) }
        }
        #expect(answer == 7)
        try server.stop()
        for _ in 0..<20 {
            let error = try await self.error { try await pool.run { try $0.query("SELECT 1").count } }
            #expect(error.code == .unreachable || error.code == .connectionLost)
        }
        await pool.close()
    }

    @Test func `where the server gives fewer connections, those do the work`() async throws {
        let database = try await PostgreSQLServer.shared().makeDatabase()
        let owner = PostgreSQLPool(try PostgreSQLAddress(database), connections: 1, logger: .silent)
        let role = "r_\(UUID().uuidString.lowercased().replacing("-", with: ""))"
        try await owner.run { _ = try $0.query(.once("CREATE ROLE \(role) LOGIN CONNECTION LIMIT 1")) }
        let address = try PostgreSQLAddress(database.replacing("//fleetpass@", with: "//\(role)@"))
        let pool = PostgreSQLPool(address, connections: 4, logger: .silent)
        let backends = try await withThrowingTaskGroup(of: Int64?.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    try await pool.run { session in
                        try session.query("SELECT pg_backend_pid()::bigint FROM pg_sleep(0.01)").first?.integer(0)
                    }
                }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(backends.count == 1)
        // Once nobody is let in, callers are told.
        try await owner.run { session in
            _ = try session.query(.once("ALTER ROLE \(role) NOLOGIN"))
            _ = try session.query(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = $1", [.text(role)])
        }
        for _ in 0..<20 {
            let error = try await self.error { try await pool.run { try $0.query("SELECT 1").count } }
            #expect(error.code == .refused)
        }
        await pool.close()
        await owner.close()
    }

    @Test func `a statement that takes too long is ended`() async throws {
        let pool = try await self.pool(
            connections: 1, PostgreSQLLimits(statement: .milliseconds(100), lock: .milliseconds(50)))
        let error = try await self.error { try await pool.run { try $0.query("SELECT pg_sleep(30)").count } }
        #expect(error.code == .timedOut)
        let one = try await pool.run { try $0.query("SELECT 1::bigint").first?.integer(0) }
        #expect(one == 1)
        await pool.close()
    }

    @Test func `a connection that an error ended takes nothing more in the same use`() async throws {
        let pool = try await self.pool(
            connections: 1, PostgreSQLLimits(statement: .milliseconds(100), lock: .milliseconds(50)))
        let outcomes = try await pool.run { session in
            ["SELECT pg_sleep(30)", "SELECT 1"].map { statement in Result { try session.query(statement).count } }
        }
        for outcome in outcomes {
            let error = try #require(throws: PostgreSQLError.self) { try outcome.get() }
            #expect(error.code == .timedOut)
        }
        #expect(try await pool.run { try $0.query("SELECT 1").count } == 1)
        await pool.close()
    }

    @Test func `too much that waits is turned away, and closing finishes the rest`() async throws {
        let pool = try await self.pool(connections: 1, PostgreSQLLimits(waiting: 1))
        let (started, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        async let held: Void = pool.run { _ in
            started.signal()
            release.wait()
        }
        while started.wait(timeout: .now()) == .timedOut { await Task.yield() }
        let (finished, finish) = AsyncStream.makeStream(of: Bool.self)
        pool.submit { outcome in finish.yield((try? outcome.get()) != nil) }
        let error = try await self.error { try await pool.run { try $0.query("SELECT 1").count } }
        #expect(error.code == .overloaded)
        async let closing: Void = pool.close()
        release.signal()
        try await held
        await closing
        var answers = finished.makeAsyncIterator()
        #expect(await answers.next() == true)
        #expect(try await self.error { try await pool.run { try $0.query("SELECT 1").count } }.code == .closed)
    }

    // MARK: - Addresses

    @Test func `no error and no description shows the password`() async throws {
        let folder = try PostgreSQLServer.shared().folder.path
        let place = folder.replacing("/", with: "%2F")
        for (text, code) in [
            ("postgresql://fleetpass:s3cret@/no_such_database?host=\(place)", PostgreSQLError.Code.refused),
            ("postgresql://nobody-here:s3cret@/fleetpass?host=\(place)", .refused),
            ("postgresql://fleetpass:s3cret@127.0.0.1:1/fleetpass", .unreachable),
            ("postgresql://fleetpass:s3cret@/fleetpass?host=%2Fno%2Fsuch%2Ffolder", .unreachable),
        ] {
            let address = try PostgreSQLAddress(text)
            let pool = PostgreSQLPool(address, connections: 1, logger: .silent)
            let error = try await self.error { try await pool.run { try $0.query("SELECT 1").count } }
            #expect(error.code == code, "\(error)")
            var dumped = ""
            dump(address, to: &dumped)
            for shown in ["\(error)", "\(address)", String(reflecting: address), dumped] {
                #expect(!shown.contains("s3cret"))
            }
            await pool.close()
        }
        let malformed = try #require(throws: PostgreSQLError.self) {
            try PostgreSQLAddress("postgresql://fleetpass:s3cret%@host:port/fleetpass?x=y")
        }
        #expect(malformed.code == .invalidAddress)
        #expect(!"\(malformed)".contains("s3cret"))
    }

    @Test(arguments: [
        ("requirepeer=nobody-here", "requirepeer specifies"),
        ("gssencmode=require", "GSSAPI"),
        ("channel_binding=require", "channel binding required"),
    ])
    func `an option that the server does not go with is a mistake in the address, and no outage`(
        option: String, words: String
    ) async throws {
        let address = try await PostgreSQLServer.shared().makeDatabase()
        let pool = PostgreSQLPool(try PostgreSQLAddress("\(address)&\(option)"), connections: 1, logger: .silent)
        let error = try await self.error { try await pool.run { try $0.query("SELECT 1").count } }
        #expect(error.code == .invalidAddress, "\(error)")
        #expect(!error.isOutage && error.message.contains(words), "\(error)")
        await pool.close()
    }

    // MARK: - Tables

    private static let first = [["CREATE TABLE thing (id bigint PRIMARY KEY)", "INSERT INTO thing VALUES (1)"]]
    private static let second = first + [["ALTER TABLE thing ADD COLUMN name text"]]

    @Test func `tables are made once, however many nodes start together`() async throws {
        let schema = PostgreSQLSchema(part: "things", steps: Self.first)
        let first = try await self.pool(connections: 8, schema: schema)
        try await withThrowingDiscardingTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    let node = PostgreSQLPool(
                        first.address, connections: 1, tables: PostgreSQLTables(schema), logger: .silent)
                    let count = try await node.run { try $0.query("SELECT count(*) FROM thing").first?.integer(0) }
                    #expect(count == 1)
                    await node.close()
                }
            }
        }
        await first.close()
    }

    @Test func `older tables are brought up to date, newer ones refused`() async throws {
        let old = try await self.pool(schema: PostgreSQLSchema(part: "things", steps: Self.first))
        try await old.run { _ = try $0.query("SELECT 1") }
        let new = PostgreSQLPool(
            old.address, connections: 1,
            tables: PostgreSQLTables(PostgreSQLSchema(part: "things", steps: Self.second)), logger: .silent)
        try await new.run { _ = try $0.query("SELECT name FROM thing") }
        let late = PostgreSQLPool(
            old.address, connections: 1,
            tables: PostgreSQLTables(PostgreSQLSchema(part: "things", steps: Self.first)), logger: .silent)
        let error = try await self.error { try await late.run { try $0.query("SELECT 1").count } }
        #expect(error.code == .wrongSchema)
        #expect(error.message.contains("version 2"))
        for pool in [old, new, late] { await pool.close() }
    }

    @Test func `tables that are gone are not made anew by a pool that had seen them, and are found when they are back`()
        async throws
    {
        let schema = PostgreSQLSchema(part: "things", steps: Self.first)
        let tables = PostgreSQLTables(schema)
        let database = try await PostgreSQLServer.shared().makeDatabase()
        let address = try PostgreSQLAddress(database)
        let pools = (0..<2).map { _ in
            PostgreSQLPool(address, connections: 1, tables: tables, logger: .silent)
        }
        try await pools[0].run { _ = try $0.query("SELECT id FROM thing") }
        try await PostgreSQLServer.empty(database)
        // The second had no connection of its own yet.
        for pool in pools {
            let error = try await self.error { try await pool.run { try $0.query("SELECT id FROM thing").count } }
            #expect(error.code == .wrongSchema)
            #expect(error.message.contains("were there and are gone"), "\(error)")
        }
        #expect(try await PostgreSQLServer.isEmpty(database))

        let restarted = PostgreSQLPool(
            address, connections: 1, tables: PostgreSQLTables(schema), logger: .silent)
        try await restarted.run { _ = try $0.query("SELECT id FROM thing") }
        // Attempts to connect are spaced out.
        let end = ContinuousClock.now + .seconds(30)
        var count: Int?
        while count == nil, .now < end {
            count = try? await pools[0].run { try $0.query("SELECT id FROM thing").count }
            await Task.yield()
        }
        #expect(count == 1)
        for pool in pools + [restarted] { await pool.close() }
    }

    @Test func `tables that another program makes are only looked at`() async throws {
        let database = try await PostgreSQLServer.shared().makeDatabase()
        let address = try PostgreSQLAddress(database)
        func follow(_ steps: [PostgreSQLSchema.Step]) async throws {
            let pool = PostgreSQLPool(
                address, connections: 1,
                tables: PostgreSQLTables(PostgreSQLSchema(part: "things", steps: steps), madeBy: .another),
                logger: .silent)
            defer { pool.finish() }
            try await pool.run { _ = try $0.query("SELECT id FROM thing") }
        }
        let missing = try await self.error { try await follow(Self.first) }
        #expect(missing.code == .wrongSchema)
        #expect(try await PostgreSQLServer.isEmpty(database))

        let maker = PostgreSQLPool(
            address, connections: 1, tables: PostgreSQLTables(PostgreSQLSchema(part: "things", steps: Self.first)),
            logger: .silent)
        try await maker.run { _ = try $0.query("SELECT 1") }
        try await follow(Self.first)
        let older = try await self.error { try await follow(Self.second) }
        #expect(older.message.contains("older version"), "\(older)")
        await maker.close()
    }

    @Test func `a version that there is not is refused`() async throws {
        let schema = PostgreSQLSchema(part: "things", steps: Self.first)
        let pool = try await self.pool(schema: schema)
        try await pool.run { _ = try $0.query("UPDATE version SET version = -1") }
        let next = PostgreSQLPool(pool.address, connections: 1, tables: PostgreSQLTables(schema), logger: .silent)
        let error = try await self.error { try await next.run { try $0.query("SELECT 1").count } }
        #expect(error.code == .wrongSchema)
        #expect(error.message.contains("version -1"))
        for one in [pool, next] { await one.close() }
    }

    @Test func `a table that was found and is missing then tells of poolers`() async throws {
        let pool = try await self.pool(
            connections: 1, schema: PostgreSQLSchema(part: "things", steps: Self.first))
        let advice = "A pooler that changes connections between transactions cannot stand in between"
        let error = try await self.error {
            try await pool.run { session in
                // As on a connection that was made ready for another client.
                try session.query(.once("SELECT set_config('search_path', 'public', false)"))
                return try session.query("SELECT count(*) FROM thing").count
            }
        }
        #expect(error.code == .wrongSchema)
        #expect(error.message.contains("thing"))
        #expect(error.message.contains(advice), "\(error)")
        await pool.close()

        let bare = PostgreSQLPool(pool.address, connections: 1, logger: .silent)
        let missing = try await self.error { try await bare.run { try $0.query("SELECT * FROM nowhere").count } }
        #expect(missing.code == .wrongSchema)
        #expect(!missing.message.contains(advice), "\(missing)")
        await bare.close()
    }

    @Test func `a statement that another client prepared on the connection tells of poolers`() async throws {
        let pool = try await self.pool(connections: 1)
        let error = try await self.error {
            try await pool.run { session in
                try session.query(.once("PREPARE s0 AS SELECT 1"))
                return try session.query("SELECT 2").count
            }
        }
        #expect(error.sqlState == "42P05")
        #expect(error.message.contains("A pooler that changes connections between transactions"), "\(error)")
        await pool.close()
    }

    @Test func `a user who lacks a right is told which to grant, whether or not the schema is there`() async throws {
        let schema = PostgreSQLSchema(part: "things", steps: Self.first)
        let text = try await PostgreSQLServer.shared().makeDatabase()
        let owner = PostgreSQLPool(try PostgreSQLAddress(text), connections: 1, logger: .silent)
        let user = "u_\(UUID().uuidString.lowercased().replacing("-", with: ""))"
        try await owner.run { _ = try $0.query(.once("CREATE ROLE \(user) LOGIN")) }
        let address = try PostgreSQLAddress(text.replacing("//fleetpass@", with: "//\(user)@"))
        for (statement, advice) in [("SELECT 1", "CREATE SCHEMA"), ("CREATE SCHEMA fleetpass", "grant it USAGE")] {
            try await owner.run { _ = try $0.query(.once(statement)) }
            let pool = PostgreSQLPool(address, connections: 1, tables: PostgreSQLTables(schema), logger: .silent)
            let error = try await self.error { try await pool.run { try $0.query("SELECT 1").count } }
            #expect(error.code == .wrongSchema)
            #expect(error.message.contains(advice), "\(error)")
            await pool.close()
        }
        await owner.close()
    }

    @Test func `a step that fails leaves no trace`() async throws {
        let pool = try await self.pool(
            schema: PostgreSQLSchema(part: "things", steps: Self.first + [["ALTER TABLE thing ADD COLUMN id text"]]))
        let error = try await self.error { try await pool.run { try $0.query("SELECT 1").count } }
        #expect(error.code == .statementFailed)
        let bare = PostgreSQLPool(pool.address, connections: 1, logger: .silent)
        let exists = try await bare.run { try $0.query("SELECT to_regclass('fleetpass.thing') IS NULL").first?.bool(0) }
        #expect(exists == true)
        await bare.close()
        await pool.close()
    }

    @Test func `a database that cannot hold every text is refused`() async throws {
        let address = try await PostgreSQLServer.shared().makeDatabase(
            "ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        let pool = PostgreSQLPool(
            try PostgreSQLAddress(address), connections: 1,
            tables: PostgreSQLTables(PostgreSQLSchema(part: "things", steps: Self.first)), logger: .silent)
        let error = try await self.error { try await pool.run { try $0.query("SELECT 1").count } }
        #expect(error.code == .wrongSchema)
        #expect(error.message.contains("LATIN1"))
        await pool.close()
    }

    @Test func `tables that were copied to a database that cannot hold every text are refused`() async throws {
        let schema = PostgreSQLSchema(part: "things", steps: Self.first)
        let address = try PostgreSQLAddress(
            try await PostgreSQLServer.shared().makeDatabase("ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"))
        let bare = PostgreSQLPool(address, connections: 1, logger: .silent)
        try await bare.run { session in
            for sql in [
                "CREATE SCHEMA fleetpass", "CREATE TABLE fleetpass.thing (id bigint PRIMARY KEY)",
                "CREATE TABLE fleetpass.version (part text PRIMARY KEY, version bigint NOT NULL)",
                "INSERT INTO fleetpass.version VALUES ('things', 1)",
            ] { try session.query(.once(sql)) }
        }
        let using = PostgreSQLPool(address, connections: 1, tables: PostgreSQLTables(schema), logger: .silent)
        let errors = [
            try await self.error { try await using.run { try $0.query("SELECT 1").count } },
            try await self.error { try await bare.run { try schema.state($0) } },
        ]
        for error in errors {
            #expect(error.code == .wrongSchema)
            #expect(error.message.contains("LATIN1"), "\(error)")
        }
        for pool in [bare, using] { await pool.close() }
    }
}

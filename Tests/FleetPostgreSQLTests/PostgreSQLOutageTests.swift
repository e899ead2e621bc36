// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetPostgreSQL
import FleetTokens
import Foundation
import Logging
import PostgreSQLTestSupport
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite(
    .enabled(if: PostgreSQLServer.isInstalled, Comment(rawValue: PostgreSQLServer.absence)), .timeLimit(.minutes(5)))
struct PostgreSQLOutageTests {
    private func error(_ body: () async throws -> some Any) async throws -> PostgreSQLError {
        try await #require(throws: PostgreSQLError.self) { _ = try await body() }
    }

    @Test func `a host that says nothing, or is not as wanted, is left for the next one`() async throws {
        let silent = try SilentHost()
        defer { silent.stop() }
        let reader = try PostgreSQLServer()
        defer { try? reader.stop() }
        let folders = try [reader.folder, PostgreSQLServer.shared().folder].map { folder in
            folder.path.replacing("/", with: "%2F")
        }
        let readers = PostgreSQLPool(
            try PostgreSQLAddress("postgresql://fleetpass@/fleetpass?host=\(folders[0])"), connections: 1,
            logger: .silent)
        try await readers.run { session in
            _ = try session.query(.once("ALTER DATABASE fleetpass SET default_transaction_read_only = on"))
        }
        await readers.close()
        for option in ["", "&connect_timeout=2"] {
            let address = try PostgreSQLAddress(
                "postgresql://fleetpass@/fleetpass?host=127.0.0.1,\(folders[0]),\(folders[1])"
                    + "&port=\(silent.port),5432,5432&target_session_attrs=read-write\(option)")
            let pool = PostgreSQLPool(address, connections: 1, logger: .silent)
            let isReadOnly = try await pool.run { session in
                try session.query("SELECT current_setting('transaction_read_only')").first?.text(0)
            }
            #expect(isReadOnly == "off")
            await pool.close()
        }
    }

    @Test func `a server that cannot be reached is told of once in ten seconds, however many look for it`() async throws
    {
        let silent = try SilentHost()
        defer { silent.stop() }
        let told = Locked<[String]>([])
        let pool = PostgreSQLPool(
            try PostgreSQLAddress("postgresql://fleetpass@127.0.0.1:\(silent.port)/fleetpass"), connections: 20,
            limits: PostgreSQLLimits(connect: .seconds(2)), logger: Logger(label: "test") { _ in Lines(told: told) },
            now: { Date(timeIntervalSince1970: 1_800_000_000) })
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { _ = try? await pool.run { try $0.query("SELECT 1").count } } }
        }
        #expect(told.withLock { $0 } == ["PostgreSQL cannot be used"])
        await pool.close()
    }

    /// Keeps the messages of what is logged.
    private struct Lines: LogHandler {
        let told: Locked<[String]>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) { self.told.withLock { $0.append("\(event.message)") } }
    }

    @Test func `where a server can only be read, the advice is to promote one or to wait`() async throws {
        let text = try await PostgreSQLServer.shared().makeDatabase()
        let any = PostgreSQLPool(try PostgreSQLAddress(text), connections: 1, logger: .silent)
        try await any.run { session in
            let name = try session.query("SELECT current_database()").first?.text(0) ?? ""
            _ = try session.query(.once("ALTER DATABASE \(name) SET default_transaction_read_only = on"))
        }
        await any.close()
        let address = try PostgreSQLAddress("\(text)&target_session_attrs=read-write")
        let pool = PostgreSQLPool(address, connections: 1, logger: .silent)
        let error = try await self.error { try await pool.run { try $0.query("SELECT 1").count } }
        #expect(error.code == .unreachable)
        #expect(error.message.contains("; promote one, or wait for the primary: "), "\(error)")
        #expect(error.message.contains("session is read-only") && !error.message.contains("firewall"), "\(error)")
        await pool.close()
    }

    @Test(arguments: [
        ("SET default_transaction_read_only = on", "25006"), ("DEALLOCATE ALL", "26000"),
        ("ALTER TABLE thing ADD COLUMN name text", "0A000"),
    ])
    func `a session that can serve no more is replaced`(cause: String, state: String) async throws {
        let address = try PostgreSQLAddress(try await PostgreSQLServer.shared().makeDatabase())
        let pool = PostgreSQLPool(address, connections: 1, logger: .silent)
        let insert = "INSERT INTO thing VALUES (1) RETURNING *"
        try await pool.run { session in
            try session.query(.once("CREATE TABLE thing (id bigint)"))
            try session.query(insert)
            try session.query(.once(cause))
        }
        let error = try await self.error { try await pool.run { try $0.query(insert).count } }
        #expect(error.sqlState == state)
        #expect(error.code == .serverFailed)
        #expect(error.mayPass)
        let count = try await pool.run { try $0.query(insert).count }
        #expect(count == 1)
        await pool.close()
    }

    @Test func `a long statement makes nobody doubt the server`() async throws {
        let address = try PostgreSQLAddress(try await PostgreSQLServer.shared().makeDatabase())
        let pool = PostgreSQLPool(address, connections: 1, logger: .silent)
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        // Longer than nothing may come without a look at the server.
        pool.submit { session in end.yield((try? session.get().query("SELECT pg_sleep(5)")) != nil) }
        let seven = try await pool.run { try $0.query("SELECT 7::bigint").first?.integer(0) }
        #expect(seven == 7)
        var answers = ends.makeAsyncIterator()
        #expect(await answers.next() == true)
        await pool.close()
    }

    @Test func `a server that answers nobody is told at once, and what waits for it is not given up`() async throws {
        let server = try PostgreSQLServer()
        defer { try? server.stop() }
        let limits = PostgreSQLLimits(statement: .seconds(60), lock: .seconds(60))
        let address = try PostgreSQLAddress(try await server.makeDatabase())
        let pool = PostgreSQLPool(address, connections: 1, limits: limits, logger: .silent)
        let holder = PostgreSQLPool(address, connections: 1, limits: limits, logger: .silent)
        let lines = try String(contentsOf: server.folder.appending(path: "data/postmaster.pid"), encoding: .utf8)
        let process = try #require(lines.split(separator: "\n").first.flatMap { pid_t($0) })
        try await holder.run { _ = try $0.query(.once("SELECT pg_advisory_lock(1)")) }
        async let long = pool.run { try $0.query(.once("SELECT pg_advisory_lock(1)")).count }
        var waiting: Int64? = 0
        while waiting == 0 {
            waiting = try await holder.run { session in
                try session.query("SELECT count(*) FROM pg_locks WHERE NOT granted").first?.integer(0)
            }
        }
        // From here on, nobody takes new connections, and the lock keeps the old one waiting.
        kill(process, SIGSTOP)
        defer { kill(process, SIGCONT) }
        let queued = try await self.error { try await pool.run { try $0.query("SELECT 1").count } }
        #expect(queued.code == .unreachable)
        #expect(pool.refusal?.message == queued.message)
        let next = try await self.error { try await pool.run { try $0.query("SELECT 1").count } }
        #expect(next.message == queued.message)
        kill(process, SIGCONT)
        while pool.refusal != nil { try await Task.sleep(for: .milliseconds(10)) }
        try await holder.run { _ = try $0.query(.once("SELECT pg_advisory_unlock(1)")) }
        let granted = try await long
        #expect(granted == 1)
        let seven = try await pool.run { try $0.query("SELECT 7::bigint").first?.integer(0) }
        #expect(seven == 7)
        await pool.close()
        await holder.close()
    }

    @Test func `commits that wait for a standby that is away leave nothing waiting, and no locks`() async throws {
        let server = try PostgreSQLServer()
        defer { try? server.stop() }
        let address = try PostgreSQLAddress(try await server.makeDatabase())
        let before = PostgreSQLPool(address, connections: 1, logger: .silent)
        try await before.run { session in
            try session.query(.once("CREATE TABLE thing (number bigint)"))
            try session.query(.once("INSERT INTO thing VALUES (0)"))
            // Taken up for certain when the server starts.
            try session.query(.once("ALTER SYSTEM SET synchronous_standby_names = 'absent'"))
        }
        await before.close()
        try server.restart()

        let writer = PostgreSQLPool(
            address, connections: 1, limits: PostgreSQLLimits(statement: .milliseconds(100)), logger: .silent)
        let observer = PostgreSQLPool(address, connections: 1, logger: .silent)
        let waiting: @Sendable () async throws -> Int64? = {
            try await observer.run { session in
                try session.query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").first?
                    .integer(0)
            }
        }
        for number in 1...3 as ClosedRange<Int64> {
            let error = try await self.error {
                try await writer.run { try $0.query("UPDATE thing SET number = number + 1").changed }
            }
            #expect(error.code == .timedOut)
            #expect(error.sqlState == nil)
            // Nothing of this commits, so nothing of it waits for the standby; the lock is had when the commit let go of it.
            let kept = try await observer.run { session in
                try session.pipeline([
                    .once("BEGIN"), .once("SELECT number FROM thing FOR UPDATE"), .once("ROLLBACK"),
                ])[1].first?.integer(0)
            }
            #expect(kept == number)
            #expect(try await waiting() == 0)
        }
        await writer.close()
        #expect(try await waiting() == 0)
        await observer.close()
    }

    @Test func `a server that cannot even be asked to end a statement is left all the same`() async throws {
        let server = try PostgreSQLServer()
        defer { try? server.stop() }
        let pool = PostgreSQLPool(
            try PostgreSQLAddress(try await server.makeDatabase()), connections: 1,
            limits: PostgreSQLLimits(statement: .milliseconds(100)), logger: .silent)
        let backend = try await pool.run { try $0.query("SELECT pg_backend_pid()::bigint").first?.integer(0) }
        let lines = try String(contentsOf: server.folder.appending(path: "data/postmaster.pid"), encoding: .utf8)
        let processes = [
            try #require(lines.split(separator: "\n").first.flatMap { pid_t($0) }), pid_t(try #require(backend)),
        ]
        for process in processes { kill(process, SIGSTOP) }
        defer { for process in processes { kill(process, SIGCONT) } }
        // The server runs on no more before this has come back.
        let error = try await self.error { try await pool.run { try $0.query("SELECT 1").count } }
        #expect(error.code == .timedOut)
        #expect(error.sqlState == nil)
        await pool.close()
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetPostgreSQL
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
}

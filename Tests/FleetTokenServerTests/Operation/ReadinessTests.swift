// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetPostgreSQL
import FleetSigning
import FleetTestSupport
import FleetTokens
import Foundation
import GoogleCredentials
import Logging
import PostgreSQLTestSupport
import Testing

@testable import FleetTokenServer

@Suite struct ReadinessTests {
    private static let start = Date(timeIntervalSince1970: 1_767_225_600)

    /// A wall clock and a clock that nobody sets.
    final class Clocks: Sendable {
        private let origin: @Sendable () -> Date
        private let begin: Date
        private let offset = Locked(0.0)
        private let passed = Locked(0.0)
        var now: Date { self.origin() + self.offset.withLock { $0 } }
        /// Both; who sleeps goes by another clock.
        func time(sleepingOn sleeps: ManualClock = ManualClock()) -> TimeSource {
            let reading: @Sendable () -> Duration = {
                .seconds(self.origin().timeIntervalSince(self.begin) + self.passed.withLock { $0 })
            }
            return TimeSource(clock: SplitClock(reading: reading, sleeps: sleeps), now: { self.now })
        }

        init(_ origin: @escaping @Sendable () -> Date = { ReadinessTests.start }) {
            self.origin = origin
            self.begin = origin()
        }

        func pass(_ seconds: Double) {
            self.set(by: seconds)
            self.passed.withLock { $0 += seconds }
        }
        func set(by seconds: Double) { self.offset.withLock { $0 += seconds } }
    }

    /// A clock that goes as a test wants, on which who sleeps is woken by another.
    private struct SplitClock: Clock {
        let origin = ContinuousClock.now
        let reading: @Sendable () -> Duration
        let sleeps: ManualClock

        var now: ContinuousClock.Instant { self.origin + self.reading() }
        var minimumResolution: Duration { .nanoseconds(1) }

        func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
            try await self.sleeps.sleep(for: self.now.duration(to: deadline))
        }
    }

    /// A database at which every look is held up for a while.
    private struct SlowDatabase: TokenServerDatabase {
        let database: any TokenServerDatabase
        let hold: @Sendable () async throws -> Void

        var place: String { self.database.place }

        func read<Result: Sendable>(
            _ body: @escaping @Sendable (any TokenServerTransaction) throws -> Result
        ) async throws -> Result {
            try await self.hold()
            return try await self.database.read(body)
        }

        func write<Result: Sendable>(
            until deadline: ContinuousClock.Instant,
            _ body: @escaping @Sendable (any TokenServerTransaction) throws -> Result
        ) async throws -> Result {
            try await self.database.write(until: deadline, body)
        }

        func look() async throws { try await self.database.look() }

        func probe(commits: Bool) async throws { try await self.database.probe(commits: commits) }

        func close() throws { try self.database.close() }
    }

    /// Without a clock to wait on, the store is waited for as long as it takes.
    private func readiness(
        _ world: TemporaryStore, _ clocks: Clocks, over store: TokenServerStore? = nil, signs: Bool = true,
        metrics: TokenServerMetrics = TokenServerMetrics(),
        served: @escaping @Sendable () -> Set<Role> = { [.driver] },
        followed: [Readiness.Check: @Sendable () -> String?] = [:], others: UpstreamClocks? = nil,
        waiting: ManualClock = ManualClock(), log: LeakTests.Log = LeakTests.Log()
    ) throws -> Readiness {
        let key = try ServiceAccountKey(generatingFor: "driver@acme", projectID: "acme")
        let minter = TokenMinter(signer: try LocalSigner(key))
        return Readiness(
            issuer: TokenIssuer(minters: signs ? [.driver: minter] : [:]), servedRoles: served,
            store: store ?? world.store, metrics: metrics, followed: followed, upstreamClocks: others,
            time: clocks.time(sleepingOn: waiting), logger: Logger(label: "test") { _ in LeakTests.Handler(log: log) })
    }

    @Test func `a server that can sign, store and tell the time is ready`() async throws {
        let (world, clocks, metrics) = (try TemporaryStore(), Clocks(), TokenServerMetrics())
        let readiness = try self.readiness(world, clocks, metrics: metrics)
        #expect(await readiness.check())
        clocks.pass(100_000)
        #expect(await readiness.check())
        #expect(metrics.text.contains(#"fleetpass_canary_up{role="driver"} 1"#))
        #expect(metrics.text.contains(#"fleetpass_ready{check="store"} 1"#))
    }

    @Test func `a server that has not looked yet is not ready`() throws {
        #expect(try self.readiness(TemporaryStore(), Clocks()).problems.keys.map(\.self) == [.canary])
    }

    @Test func `a role without a signer makes it unready`() async throws {
        let metrics = TokenServerMetrics()
        let readiness = try self.readiness(try TemporaryStore(), Clocks(), signs: false, metrics: metrics)
        #expect(await !readiness.check())
        #expect(readiness.problems[.canary]?.hasPrefix("no trial token for driver: No signer is set up") == true)
        #expect(metrics.text.contains(#"fleetpass_canary_up{role="driver"} 0"#))
    }

    @Test func `a role that is served later is tried from then on, and one that no longer is, still`() async throws {
        let (metrics, roles) = (TokenServerMetrics(), Locked<Set<Role>>([.driver]))
        let world = try TemporaryStore()
        let readiness = try self.readiness(world, Clocks(), metrics: metrics, served: { roles.withLock { $0 } })
        #expect(await readiness.check())
        #expect(!metrics.text.contains(#"role="consumer""#))
        // The issuer has no signer for it, so that its look can be told from none.
        roles.withLock { $0 = [.consumer] }
        #expect(await !readiness.check())
        #expect(readiness.problems[.canary]?.hasPrefix("no trial token for consumer: ") == true)
        #expect(metrics.text.contains(#"fleetpass_canary_up{role="driver"} 1"#))
        #expect(metrics.text.contains(#"fleetpass_canary_up{role="consumer"} 0"#))
        roles.withLock { $0 = [.driver] }
        #expect(await !readiness.check())
    }

    @Test(arguments: [-61.0, 61])
    func `a clock that was set makes it unready until it is right again`(step: Double) async throws {
        let (world, clocks) = (try TemporaryStore(), Clocks())
        let readiness = try self.readiness(world, clocks)
        clocks.set(by: step)
        #expect(await !readiness.check())
        #expect(readiness.problems.keys.map(\.self) == [.clock])
        clocks.set(by: -step)
        #expect(await readiness.check())
    }

    /// As where NTP sets it right after the start.
    @Test(arguments: [-61.0, 1199])
    func `a clock that was set counts as right once it was left alone for a while`(step: Double) async throws {
        let (world, clocks) = (try TemporaryStore(), Clocks())
        let readiness = try self.readiness(world, clocks)
        clocks.set(by: step)
        #expect(await !readiness.check())
        let remedy = "it counts as right when another server's agrees, or it was not set for 10 minutes"
        #expect(readiness.problems == [.clock: "the clock was set by \(Int(step)) s; \(remedy)"])
        clocks.pass(599)
        #expect(await !readiness.check())
        // Set once more, it has to be left alone for as long again.
        clocks.set(by: step)
        #expect(await !readiness.check())
        clocks.pass(599)
        #expect(await !readiness.check())
        clocks.pass(1)
        #expect(await readiness.check())
        clocks.pass(100_000)
        #expect(await readiness.check())
        clocks.set(by: -step)
        #expect(await !readiness.check())
    }

    @Test(arguments: [-20.0, 20])
    func `small corrections of a clock add up to nothing, unless they come close together`(step: Double) async throws {
        let (world, clocks) = (try TemporaryStore(), Clocks())
        let readiness = try self.readiness(world, clocks)
        for _ in 1...10 {
            clocks.pass(600)
            clocks.set(by: step)
            #expect(await readiness.check())
        }
        for number in 1...4 {
            clocks.pass(30)
            clocks.set(by: step)
            #expect(await readiness.check() == (number < 4))
        }
    }

    @Test func `a clock that is behind the last record makes it unready`() async throws {
        let (world, clocks) = (try TemporaryStore(), Clocks())
        let log = StoredAuditLog(store: world.store, logger: Logger(label: "test"))
        try await log.append(.granted(.server, at: Self.start.timeIntervalSince1970 + 120))
        let readiness = try self.readiness(world, clocks)
        #expect(await !readiness.check())
        clocks.pass(61)
        #expect(await readiness.check())
    }

    @Test func `a right clock is believed although one that was ahead dated the last record`() async throws {
        let (world, clocks) = (try TemporaryStore(), Clocks())
        let log = StoredAuditLog(store: world.store, logger: Logger(label: "test"))
        try await log.append(.granted(.server, at: Self.start.timeIntervalSince1970 + 86_400))
        let readiness = try self.readiness(world, clocks)
        #expect(await !readiness.check())
        clocks.pass(599)
        #expect(await !readiness.check())
        clocks.pass(1)
        #expect(await readiness.check())
        // Another record further ahead is a new doubt.
        try await log.append(.granted(.server, at: Self.start.timeIntervalSince1970 + 90_000))
        #expect(await !readiness.check())
    }

    /// Has the clocks of other servers say how far this one is ahead of theirs.
    private func hear(_ others: UpstreamClocks, _ clocks: Clocks, from host: String = "iam.test", ahead: Double) async {
        let date = HTTPDate.text(unixSeconds: Int64(clocks.now.timeIntervalSince1970 - ahead))
        _ = try? await DatedTransport(Dated(fields: [("Date", date)]), clocks: others).send(
            UpstreamRequest(url: "https://\(host)/v1"))
    }

    private struct Dated: UpstreamTransport {
        let fields: [(name: String, value: String)]
        func send(_ request: UpstreamRequest) -> UpstreamResponse {
            UpstreamResponse(status: 404, headers: self.fields)
        }
    }

    @Test(arguments: [-300.0, 300])
    func `a clock that was wrong from the start is told by other servers' answers`(ahead: Double) async throws {
        let (world, clocks) = (try TemporaryStore(), Clocks())
        let others = UpstreamClocks(time: clocks.time())
        let readiness = try self.readiness(world, clocks, others: others)
        #expect(await readiness.check())
        await self.hear(others, clocks, ahead: ahead)
        #expect(await !readiness.check())
        let problem = try #require(readiness.problems[.clock])
        #expect(problem.hasSuffix(" s \(ahead > 0 ? "ahead of" : "behind") iam.test; set it by NTP"))
        // Time alone makes no clock right that others contradict.
        clocks.pass(3600)
        #expect(await !readiness.check())
        clocks.set(by: -ahead)
        #expect(await readiness.check())
    }

    @Test func `one server that agrees outweighs another that does not, a step and the last record`() async throws {
        let (world, clocks) = (try TemporaryStore(), Clocks())
        let others = UpstreamClocks(time: clocks.time())
        let readiness = try self.readiness(world, clocks, others: others)
        await self.hear(others, clocks, ahead: 4000)
        #expect(await !readiness.check())
        await self.hear(others, clocks, from: "sts.test", ahead: 2)
        #expect(await readiness.check())
        let log = StoredAuditLog(store: world.store, logger: Logger(label: "test"))
        try await log.append(.granted(.server, at: Self.start.timeIntervalSince1970 + 86_400))
        #expect(await readiness.check())
    }

    /// As where a machine is paused, which no clock of its own counts, and NTP mends its time.
    @Test func `what was heard before the clock was set does not speak against it for ever`() async throws {
        let (world, clocks) = (try TemporaryStore(), Clocks())
        let others = UpstreamClocks(time: clocks.time())
        let readiness = try self.readiness(world, clocks, others: others)
        await self.hear(others, clocks, ahead: 0)
        #expect(await readiness.check())
        clocks.pass(10)
        clocks.set(by: 900)
        #expect(await !readiness.check())
        #expect(readiness.problems[.clock]?.hasPrefix("the clock was set by 900 s") == true)
        clocks.pass(600)
        #expect(await readiness.check())
        clocks.pass(100)
        #expect(await readiness.check())
        await self.hear(others, clocks, ahead: 900)
        #expect(await !readiness.check())
    }

    @Test func `a server that agrees ends the doubt about a clock that was set`() async throws {
        let (world, clocks) = (try TemporaryStore(), Clocks())
        let others = UpstreamClocks(time: clocks.time())
        let readiness = try self.readiness(world, clocks, others: others)
        clocks.set(by: 900)
        #expect(await !readiness.check())
        clocks.pass(1)
        await self.hear(others, clocks, ahead: 0)
        #expect(await readiness.check())
    }

    @Test func `answers that a cache may have kept say only that a clock is behind`() async throws {
        let clocks = Clocks()
        func readings(ahead: Double, age: String? = nil, mayBeStored: Bool) async throws -> [Double] {
            let others = UpstreamClocks(time: clocks.time())
            let date = HTTPDate.text(unixSeconds: Int64(clocks.now.timeIntervalSince1970 - ahead))
            let dated = Dated(fields: [("Date", date)] + (age.map { [("Age", $0)] } ?? []))
            let transport = DatedTransport(dated, clocks: others, mayBeStored: mayBeStored)
            _ = try await transport.send(UpstreamRequest(url: "https://keys.test/jwks"))
            return others.readings(at: clocks.now).map { $0.ahead.rounded(.up) }
        }
        #expect(try await readings(ahead: 300, mayBeStored: true) == [])
        #expect(try await readings(ahead: 300, mayBeStored: false) == [300])
        #expect(try await readings(ahead: -300, mayBeStored: true) == [-300])
        #expect(try await readings(ahead: 0, mayBeStored: true) == [])
        #expect(try await readings(ahead: -300, age: "9", mayBeStored: false) == [])
    }

    @Test(.enabled(if: PostgreSQLServer.isInstalled, Comment(rawValue: PostgreSQLServer.absence)))
    func `of nodes that share a database, the one whose clock is wrong is unready, whatever it recorded`() async throws
    {
        let world = try await TemporaryStore.make(.postgreSQL)
        let log = StoredAuditLog(store: world.store, logger: Logger(label: "test"))
        try await log.append(.granted(.server, at: Date().timeIntervalSince1970 + 7200))
        let right = try self.readiness(world, Clocks { Date() })
        #expect(await right.check())
        for (ahead, words) in [(120.0, "ahead of"), (-120, "behind")] {
            let wrong = try self.readiness(world, Clocks { Date() + ahead })
            #expect(await !wrong.check())
            #expect(wrong.problems.keys.map(\.self) == [.clock])
            #expect(wrong.problems[.clock]?.hasSuffix(" s \(words) the database's") == true)
        }
    }

    /// Another process holds the file's lock; the database takes no changes, as a standby does.
    @Test(arguments: TokenStoreKind.available)
    func `a store that can only be read makes it unready`(kind: TokenStoreKind) async throws {
        let world = try await TemporaryStore.make(kind)
        try await world.store.check()
        let readiness = try self.readiness(world, Clocks { Date() }, over: try world.another())
        let release = try await world.refuseChanges()
        #expect(await !readiness.check())
        let reason = kind == .sqlite ? ": another process keeps it busy" : ""
        #expect(readiness.problems == [.store: "the store takes no changes\(reason)"])
        try await release()
        let later = try self.readiness(world, Clocks { Date() }, over: try world.another())
        #expect(await later.check())
    }

    @Test(arguments: TokenStoreKind.available)
    func `a record that could not be kept makes it unready at once, until one could be`(
        kind: TokenStoreKind
    ) async throws {
        let (world, metrics, told) = (try await TemporaryStore.make(kind), TokenServerMetrics(), LeakTests.Log())
        let log = StoredAuditLog(store: world.store, logger: .silent)
        let readiness = try self.readiness(world, Clocks { Date() }, metrics: metrics, log: told)
        #expect(await readiness.check())
        try await world.tamper("ALTER TABLE audit_record RENAME TO audit_elsewhere")
        await #expect(throws: (any Error).self) { try await log.append(.granted(.server, at: 1)) }
        #expect(readiness.problems == [.store: "the last record was not kept"])
        for _ in 0..<3 {
            await readiness.checkStore()
            #expect(readiness.problems == [.store: "the store takes no changes"])
            #expect(metrics.text.contains(#"fleetpass_ready{check="store"} 0"#))
        }
        #expect(told.contents.split(separator: "\n").count { $0.hasPrefix("error readiness changed") } == 1)
        try await world.tamper("ALTER TABLE audit_elsewhere RENAME TO audit_record")
        await readiness.checkStore()
        #expect(readiness.problems.isEmpty)
        #expect(metrics.text.contains(#"fleetpass_ready{check="store"} 1"#))
        // What was tried left nothing behind.
        try await log.append(.granted(.server, at: 1))
        #expect(try await world.reader.verify().head.sequence == 1)
    }

    @Test func `a file that has room for no record makes it unready until it has`() async throws {
        let world = try TemporaryStore()
        let log = StoredAuditLog(store: world.store, logger: .silent)
        let readiness = try self.readiness(world, Clocks { Date() })
        func set(_ pragma: String) async throws {
            _ = try await world.store.database.write { try $0.execute("PRAGMA \(pragma)", []) }
        }
        #expect(await readiness.check())
        // SQLite takes the least that is possible for it: what the file has.
        try await set("max_page_count = 1")
        var kept: Int64 = 0
        while (try? await log.append(.granted(.server, at: 1))) != nil { kept += 1 }
        #expect(readiness.problems == [.store: "the last record was not kept"])
        for _ in 0..<3 {
            #expect(await !readiness.check())
            #expect(readiness.problems == [.store: "the store takes no changes: its disk is full"])
        }
        try await set("max_page_count = 1000000")
        #expect(await readiness.check())
        try await log.append(.granted(.server, at: 1))
        #expect(try await world.reader.verify().head.sequence == kept + 1)
    }

    /// As where the records' disk is full, and the one of what changes besides is not.
    @Test(.enabled(if: PostgreSQLServer.isInstalled, Comment(rawValue: PostgreSQLServer.absence)))
    func `a database that refuses no more than rows is unready from the first that it refused`() async throws {
        let world = try await TemporaryStore.make(.postgreSQL)
        let log = StoredAuditLog(store: world.store, logger: .silent)
        let readiness = try self.readiness(world, Clocks { Date() })
        try await world.tamper("ALTER TABLE audit_record ADD CONSTRAINT closed CHECK (sequence < 0)")
        #expect(await readiness.check())
        await #expect(throws: (any Error).self) { try await log.append(.granted(.server, at: 1)) }
        for _ in 0..<3 {
            #expect(await !readiness.check())
            #expect(readiness.problems == [.store: "the store takes no changes"])
        }
        try await world.tamper("ALTER TABLE audit_record DROP CONSTRAINT closed")
        #expect(await readiness.check())
        try await log.append(.granted(.server, at: 1))
        #expect(try await world.reader.verify().head.sequence == 1)
    }

    @Test(.enabled(if: PostgreSQLServer.isInstalled, Comment(rawValue: PostgreSQLServer.absence)))
    func `why the store takes no changes is logged once, and told to whoever inspects it`() async throws {
        let address = try await PostgreSQLServer.shared().makeDatabase()
        let owner = try TokenServerStore(postgreSQL: address, logger: .silent)
        try await owner.check()
        let pool = PostgreSQLPool(try PostgreSQLAddress(address), connections: 1, logger: .silent)
        let user = "u_\(UUID().uuidString.lowercased().replacing("-", with: ""))"
        for statement in [
            "CREATE ROLE \(user) LOGIN", "GRANT USAGE ON SCHEMA fleetpass TO \(user)",
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA fleetpass TO \(user)",
            "REVOKE INSERT ON fleetpass.audit_record FROM \(user)",
        ] {
            try await pool.run { _ = try $0.query(.once(statement)) }
        }
        let own = address.replacing("//fleetpass@", with: "//\(user)@")
        let (world, told) = (try TemporaryStore(), LeakTests.Log())
        let store = try TokenServerStore(postgreSQL: own, logger: .silent)
        let readiness = try self.readiness(world, Clocks { Date() }, over: store, log: told)
        for _ in 0..<3 { await readiness.checkStore() }
        #expect(readiness.problems[.store] == "the store takes no changes")
        let lines = told.contents.split(separator: "\n")
        #expect(lines.count { $0.contains("readiness changed") } == 1)
        #expect(lines.first?.hasPrefix("error readiness changed") == true)
        #expect(lines.first?.contains("(42501)") == true)

        guard case .unusable(let problem, next: _) = await TokenServerStore.inspect(postgreSQL: own, triesChanges: true)
        else {
            Issue.record("The right to insert is missing.")
            return
        }
        #expect(problem.contains("42501"))
        try await pool.run { _ = try $0.query(.once("GRANT INSERT ON fleetpass.audit_record TO \(user)")) }
        guard case .usable(.current) = await TokenServerStore.inspect(postgreSQL: own, triesChanges: true) else {
            Issue.record("The store can be used.")
            return
        }
        await readiness.checkStore()
        #expect(readiness.problems[.store] == nil)
        // What was tried left nothing behind.
        #expect(try await AuditReader(store: owner).verify().head.sequence == 0)
        try store.close()
        try owner.close()
        await pool.close()
    }

    @Test(
        .enabled(if: PostgreSQLServer.isInstalled, Comment(rawValue: PostgreSQLServer.absence)),
        arguments: [false, true])
    func `a database that can only be read is told to whoever wants to change it`(hasTables: Bool) async throws {
        let address = try await PostgreSQLServer.shared().makeDatabase()
        if hasTables {
            let store = try TokenServerStore(postgreSQL: address, logger: .silent)
            try await store.check()
            try store.close()
        }
        let pool = PostgreSQLPool(try PostgreSQLAddress(address), connections: 1, logger: .silent)
        try await pool.run { session in
            _ = try session.query(
                .once(
                    """
                    DO $$ BEGIN
                    EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database());
                    END $$
                    """))
        }
        await pool.close()
        guard
            case .unreachable(let problem, next: let next) = await TokenServerStore.inspect(
                postgreSQL: address, triesChanges: true)
        else {
            Issue.record("It takes no changes.")
            return
        }
        #expect(problem.contains("takes no changes"))
        #expect(next.contains("Name the primary") && next.contains("target_session_attrs=read-write"))
        guard case .usable = await TokenServerStore.inspect(postgreSQL: address) else {
            Issue.record("It can be read.")
            return
        }
    }

    @Test func `a record that was not kept is logged, although the store takes records again`() async throws {
        struct Refused: Error {}
        let (world, told) = (try TemporaryStore(), LeakTests.Log())
        let store = TokenServerStore(WatchedDatabase(world.store.database, beforeWriting: { throw Refused() }))
        let readiness = try self.readiness(world, Clocks { Date() }, over: store, log: told)
        #expect(await readiness.check())
        let log = StoredAuditLog(store: store, logger: .silent)
        await #expect(throws: TokenServerError.self) { try await log.append(.granted(.server, at: 1)) }
        await readiness.checkStore()
        #expect(readiness.problems.isEmpty)
        let lines = told.contents.split(separator: "\n").suffix(2)
        #expect(lines.first?.hasPrefix("error readiness changed") == true)
        #expect(lines.first?.contains("the last record was not kept") == true)
        #expect(lines.last?.hasPrefix("notice readiness changed") == true)
    }

    @Test func `records that are not kept are logged no more often than every ten seconds`() async throws {
        struct Refused: Error {}
        let (world, told, clock) = (try TemporaryStore(), LeakTests.Log(), Locked(Self.start))
        let store = TokenServerStore(WatchedDatabase(world.store.database, beforeWriting: { throw Refused() }))
        let log = StoredAuditLog(
            store: store, logger: Logger(label: "test") { _ in LeakTests.Handler(log: told) },
            now: { clock.withLock { $0 } })
        for second in [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10] {
            clock.withLock { $0 = Self.start + TimeInterval(second) }
            await #expect(throws: TokenServerError.self) { try await log.append(.granted(.server, at: 1)) }
        }
        let lines = told.contents.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { $0.hasPrefix("error Audit records could not be kept") && $0.contains("Refused") })
        #expect(lines.last?.contains(#""times": 10"#) == true)
    }

    @Test(.timeLimit(.minutes(5)))
    func `a store that does not answer is told before the clock is looked at, and asked once meanwhile`() async throws {
        // One clock measures how long is waited; on the other, the database sleeps.
        let (world, waiting, silence) = (try TemporaryStore(), ManualClock(), ManualClock())
        let isSilent = Locked(false)
        let database = SlowDatabase(database: world.store.database) {
            if isSilent.withLock({ $0 }) { try await silence.sleep(for: .seconds(60)) }
        }
        let readiness = try self.readiness(world, Clocks(), over: TokenServerStore(database), waiting: waiting)
        #expect(await readiness.check())

        isSilent.withLock { $0 = true }
        let late: [Readiness.Check: String] = [.store: "the store did not answer within 3 s"]
        let whole = Task { await readiness.check() }
        await waiting.waitForSleepers(1)
        waiting.advance(by: Readiness.storeLimit)
        // By now the clock is waited for.
        await waiting.waitForSleepers(1)
        #expect(readiness.problems == late)
        waiting.advance(by: Readiness.storeLimit)
        #expect(await !whole.value)
        #expect(readiness.problems == late)

        await silence.waitForSleepers(2)
        let again = Task { await readiness.check() }
        for _ in 0..<2 {
            await waiting.waitForSleepers(1)
            waiting.advance(by: Readiness.storeLimit)
        }
        #expect(await !again.value)
        #expect(silence.sleeperCount == 2)

        isSilent.withLock { $0 = false }
        silence.advance(by: .seconds(60))
        #expect(await readiness.check())
    }

    @Test func `a look at the store alone leaves what else was found`() async throws {
        let (world, clocks) = (try TemporaryStore(), Clocks())
        let readiness = try self.readiness(world, clocks, signs: false)
        #expect(await !readiness.check())
        try world.store.close()
        await readiness.checkStore()
        #expect(Set(readiness.problems.keys) == [.canary, .store])
    }

    @Test(arguments: [nil, "status 503"])
    func `what is followed is missed from the start, and told once it was tried`(found: String?) async throws {
        let (world, clocks, log) = (try TemporaryStore(), Clocks(), LeakTests.Log())
        let problem = Locked<String?>("nothing was fetched yet")
        let readiness = try self.readiness(
            world, clocks, followed: [.revocations: { problem.withLock { $0 } }], log: log)
        func errors() -> Int { log.contents.split(separator: "\n").count { $0.hasPrefix("error ") } }
        for _ in 0..<2 {
            #expect(await !readiness.check())
            #expect(readiness.problems.keys.map(\.self) == [.revocations])
        }
        #expect(errors() == 0)
        problem.withLock { $0 = found }
        #expect(await readiness.check() == (found == nil))
        #expect(errors() == (found == nil ? 0 : 1))
        problem.withLock { $0 = "status 500" }
        #expect(await !readiness.check())
        #expect(errors() == 1)
        problem.withLock { $0 = nil }
        #expect(await readiness.check())
    }

    @Test func `a look that is cancelled finds nothing out`() async throws {
        let log = LeakTests.Log()
        let readiness = try self.readiness(try TemporaryStore(), Clocks(), log: log)
        let look = Task {
            while !Task.isCancelled { await Task.yield() }
            return await readiness.check()
        }
        look.cancel()
        #expect(await !look.value)
        #expect(readiness.problems.keys.map(\.self) == [.canary])
        #expect(log.contents.isEmpty)
    }

    private static let replaced =
        "the store's file was removed or replaced, or the -wal or -shm beside it; put that very file back, or restart the "
        + "server"

    /// As where a backup is put in its place, which whoever opens the store from then on finds.
    @Test(arguments: [false, true])
    func `a store whose file was removed or replaced keeps nothing, until the file is back`(
        isReplaced: Bool
    ) async throws {
        let (world, clocks) = (try TemporaryStore(), Clocks())
        let readiness = try self.readiness(world, clocks)
        try await world.append(1)
        #expect(await readiness.check())
        let gone = world.folder.appending(path: "gone")
        try FileManager.default.createDirectory(at: gone, withIntermediateDirectories: true)
        let names = ["", "-wal", "-shm"].map { "tokens.sqlite" + $0 }
        for name in names {
            let (here, there) = (world.folder.appending(path: name), gone.appending(path: name))
            try FileManager.default.moveItem(at: here, to: there)
            if isReplaced { try FileManager.default.copyItem(at: there, to: here) }
        }

        let log = StoredAuditLog(store: world.store, logger: .silent)
        await #expect(throws: TokenServerError.self) { try await log.append(.granted(.server, at: 1)) }
        #expect(await !readiness.check())
        #expect(readiness.problems == [.store: Self.replaced])
        let error = await #expect(throws: TokenServerError.self) {
            try await RevocationStore(store: world.store).current(at: Self.start)
        }
        #expect(error?.code == .storeReplaced)
        #expect(error?.message.contains(world.path) == true)
        let administration = Administration(store: world.store)
        let refusal = await #expect(throws: TokenServerError.self) {
            try await administration.revoke(.key("key-1"), by: .init(localUser: "me"), at: Self.start)
        }
        #expect(refusal?.code == .storeReplaced)

        for name in names {
            let (here, there) = (world.folder.appending(path: name), gone.appending(path: name))
            if isReplaced { try FileManager.default.removeItem(at: here) }
            try FileManager.default.moveItem(at: there, to: here)
        }
        #expect(await readiness.check())
        try await log.append(.granted(.server, at: 1))
        #expect(try await world.reader.head().sequence == 2)
    }

    @Test(arguments: ["tokens.sqlite-wal", "tokens.sqlite-shm"], [false, true])
    func `a store that lost what is beside its file keeps nothing from the next look on, until it is back`(
        name: String, isReplaced: Bool
    ) async throws {
        let (world, clocks) = (try TemporaryStore(), Clocks())
        let readiness = try self.readiness(world, clocks)
        try await world.append(1)
        #expect(await readiness.check())
        let here = world.folder.appending(path: name)
        let there = world.folder.appending(path: "gone")
        try FileManager.default.moveItem(at: here, to: there)
        if isReplaced { try FileManager.default.copyItem(at: there, to: here) }

        await readiness.checkStore()
        #expect(readiness.problems == [.store: Self.replaced])
        let log = StoredAuditLog(store: world.store, logger: .silent)
        await #expect(throws: TokenServerError.self) { try await log.append(.granted(.server, at: 1)) }

        try? FileManager.default.removeItem(at: here)
        try FileManager.default.moveItem(at: there, to: here)
        // Nobody has to look first.
        try await log.append(.granted(.server, at: 1))
        #expect(await readiness.check())
        #expect(try await world.reader.head().sequence == 2)
    }

    @Test(arguments: ["tokens.sqlite-wal", "tokens.sqlite-shm"])
    func `who only asks what is withdrawn is told that what is beside the store's file was removed`(
        name: String
    ) async throws {
        let world = try TemporaryStore()
        let revocations = RevocationStore(store: world.store)
        #expect(try await revocations.current(at: Self.start).isEmpty)
        try FileManager.default.removeItem(at: world.folder.appending(path: name))
        let error = await #expect(throws: TokenServerError.self) { try await revocations.current(at: Self.start) }
        #expect(error?.code == .storeReplaced)
        // One that is closed misses nothing.
        try world.store.close()
        await #expect(throws: Never.self) { try await world.store.database.look() }
    }

    @Test func `a store that is gone makes it unready`() async throws {
        let (world, clocks) = (try TemporaryStore(), Clocks())
        let readiness = try self.readiness(world, clocks)
        #expect(await readiness.check())
        try world.store.close()
        #expect(await !readiness.check())
        #expect(readiness.problems[.store] != nil)
    }
}

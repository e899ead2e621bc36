// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import GRDB
import Testing

@testable import FleetTokenServer

@Suite struct StoreFileTests {
    /// A folder that is gone with the value.
    private final class Folder {
        let url = URL.temporaryDirectory.appending(path: "fleetpass-\(UUID().uuidString)")

        init() throws {
            try FileManager.default.createDirectory(at: self.url, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(at: self.url) }

        func path(_ name: String) -> String { self.url.appending(path: name).path(percentEncoded: false) }
    }

    @Test func `a file that holds no store is not read, and stays as it is`() throws {
        let folder = try Folder()
        let other = try DatabaseQueue(path: folder.path("other"))
        try other.write { try $0.execute(sql: "CREATE TABLE grdb_migrations (identifier TEXT)") }
        try other.close()
        try Data().write(to: folder.url.appending(path: "empty"))
        for name in ["empty", "other"] {
            let before = try Data(contentsOf: folder.url.appending(path: name))
            let error = #expect(throws: TokenServerError.self) { try TokenServerStore(readingAt: folder.path(name)) }
            #expect(error?.message.hasPrefix("\(folder.path(name)) is no store of a token server") == true)
            #expect(try Data(contentsOf: folder.url.appending(path: name)) == before)
        }
        #expect(throws: Never.self) { try TokenServerStore(creatingAt: folder.path("empty")).close() }
        #expect(throws: Never.self) { try TokenServerStore(readingAt: folder.path("empty")).close() }
    }

    @Test func `only a server makes a store, and only of a file without anything in it`() throws {
        let folder = try Folder()
        let other = try DatabaseQueue(path: folder.path("other"))
        try other.write { try $0.execute(sql: "CREATE TABLE thing (id INTEGER)") }
        try other.close()
        try Data().write(to: folder.url.appending(path: "empty"))
        func bytes(_ name: String) throws -> Data { try Data(contentsOf: folder.url.appending(path: name)) }
        for (name, advice) in [("empty", "start its server first"), ("other", "name the")] {
            let before = try bytes(name)
            let error = #expect(throws: TokenServerError.self) { try TokenServerStore(openingAt: folder.path(name)) }
            #expect(error?.message.hasPrefix("\(folder.path(name)) is no store of a token server; \(advice)") == true)
            #expect(try bytes(name) == before)
        }
        let before = try bytes("other")
        let refusal = #expect(throws: TokenServerError.self) { try TokenServerStore(creatingAt: folder.path("other")) }
        #expect(refusal?.code == .storeUnavailable)
        #expect(refusal?.message.contains("is no store of a token server; move it away") == true)
        #expect(try bytes("other") == before)
        for name in ["empty", "new"] {
            #expect(throws: Never.self) { try TokenServerStore(creatingAt: folder.path(name)).close() }
            #expect(throws: Never.self) { try TokenServerStore(openingAt: folder.path(name)).close() }
        }
    }

    @Test func `a server that was killed while it made its store makes it when it starts again`() throws {
        let folder = try Folder()
        for (name, sql) in [
            ("head", "PRAGMA journal_mode = WAL"),
            ("steps", "CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)"),
        ] {
            let begun = try DatabaseQueue(path: folder.path(name))
            try begun.writeWithoutTransaction { try $0.execute(sql: sql) }
            try begun.close()
            #expect(throws: TokenServerError.self) { try TokenServerStore(openingAt: folder.path(name)) }
            #expect(throws: Never.self) { try TokenServerStore(creatingAt: folder.path(name)).close() }
        }
    }

    @Test func `what a killed server left half written is rolled back when it starts again`() throws {
        let folder = try Folder()
        let begun = try DatabaseQueue(path: folder.path("begun"))
        try begun.writeWithoutTransaction { database in
            // Pages go to the file before the end, beside the journal that takes them back.
            try database.execute(sql: "PRAGMA cache_size = 1")
            try database.inTransaction {
                try database.execute(sql: "CREATE TABLE thing (content BLOB)")
                for _ in 0..<50 { try database.execute(sql: "INSERT INTO thing VALUES (zeroblob(3000))") }
                for name in ["made", "changed"] {
                    for suffix in ["", "-journal"] {
                        try FileManager.default.copyItem(
                            atPath: folder.path("begun" + suffix), toPath: folder.path(name + suffix))
                    }
                }
                return .rollback
            }
        }
        try begun.close()
        let before = try Data(contentsOf: folder.url.appending(path: "made"))
        let error = #expect(throws: TokenServerError.self) { try TokenServerStore(readingAt: folder.path("made")) }
        #expect(error?.message.contains("was left half written by a program that was killed; start its server") == true)
        guard case .unusable(_, next: let next) = TokenServerStore.inspect(file: folder.path("made")) else {
            Issue.record("a store that cannot be read was found usable")
            return
        }
        #expect(next == "Start its server, which mends it.")
        #expect(try Data(contentsOf: folder.url.appending(path: "made")) == before)
        #expect(throws: Never.self) { try TokenServerStore(creatingAt: folder.path("made")).close() }
        #expect(throws: Never.self) { try TokenServerStore(readingAt: folder.path("made")).close() }
        let unmade = #expect(throws: TokenServerError.self) { try TokenServerStore(openingAt: folder.path("changed")) }
        #expect(unmade?.message.contains("start its server first") == true)
        #expect(throws: Never.self) { try TokenServerStore(creatingAt: folder.path("changed")).close() }
    }

    @Test func `a store is whole in its file alone once it is closed, and has its tables there from the start`()
        async throws
    {
        let world = try TemporaryStore()
        func copy(to name: String) throws -> TokenServerStore {
            let path = world.folder.appending(path: name).path(percentEncoded: false)
            try FileManager.default.copyItem(atPath: world.path, toPath: path)
            return try TokenServerStore(readingAt: path)
        }
        let begun = try copy(to: "begun.sqlite")
        #expect(try await AuditReader(store: begun).verify().head.sequence == 0)
        try begun.close()
        try await world.append(3)
        #expect(try await world.reader.head().sequence == 3)
        // As an engine that reads what is withdrawn.
        let other = try world.another()
        try await other.check()
        try world.store.close()
        let closed = try copy(to: "closed.sqlite")
        #expect(try await AuditReader(store: closed).verify().head.sequence == 3)
        try closed.close()
        try other.close()
    }

    @Test(.timeLimit(.minutes(1))) func `a store is closed also while another process reads it`() async throws {
        let world = try TemporaryStore()
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let queue = try DatabaseQueue(path: world.path, configuration: configuration)
        try await queue.writeWithoutTransaction { database in
            try database.execute(sql: "BEGIN")
            #expect(try Int.fetchOne(database, sql: "SELECT count(*) FROM audit_record") == 0)
        }
        try await world.append(1)
        try world.store.close()
        try await queue.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        try queue.close()
        let store = try TokenServerStore(readingAt: world.path)
        #expect(try await AuditReader(store: store).verify().head.sequence == 1)
        try store.close()
    }

    @Test func `a look at a file tells what a server would make of it`() throws {
        let folder = try Folder()
        try Data().write(to: folder.url.appending(path: "empty"))
        let older = try DatabaseQueue(path: folder.path("older"))
        try TokenServerSchema.migrator.migrate(older, upTo: "1 audit")
        try older.close()
        let other = try DatabaseQueue(path: folder.path("other"))
        try other.write { try $0.execute(sql: "CREATE TABLE thing (id INTEGER)") }
        try other.close()
        try TokenServerStore(creatingAt: folder.path("store")).close()
        func tables(_ name: String) -> TokenServerStore.Tables? {
            guard case .usable(let tables) = TokenServerStore.inspect(file: folder.path(name)) else { return nil }
            return tables
        }
        #expect(tables("empty") == .missing)
        #expect(tables("older") == .older)
        #expect(tables("store") == .current)
        #expect(tables("other") == nil)
    }

    @Test func `a store of an older version is not changed by reading it, and its server brings it up to date`() throws
    {
        let folder = try Folder()
        let older = try DatabaseQueue(path: folder.path("older"))
        try TokenServerSchema.migrator.migrate(older, upTo: "1 audit")
        try older.close()
        let before = try Data(contentsOf: folder.url.appending(path: "older"))
        let ways: [(String) throws -> TokenServerStore] = [
            { try TokenServerStore(readingAt: $0) }, { try TokenServerStore(listingAt: $0) },
        ]
        for open in ways {
            let error = #expect(throws: TokenServerError.self) { try open(folder.path("older")) }
            #expect(error?.code == .storeUnavailable)
            #expect(error?.message.contains("was written by an older version") == true)
            #expect(error?.message.contains("start its server, which brings it up to date") == true)
            #expect(try Data(contentsOf: folder.url.appending(path: "older")) == before)
        }
        #expect(throws: Never.self) { try TokenServerStore(creatingAt: folder.path("older")).close() }
        #expect(throws: Never.self) { try TokenServerStore(readingAt: folder.path("older")).close() }
        #expect(throws: Never.self) { try TokenServerStore(listingAt: folder.path("older")).close() }
    }

    @Test func `reading a store changes nothing of it, and leaves nothing beside it`() async throws {
        let world = try TemporaryStore()
        try await world.append(3)
        func bytes(_ folder: Folder) throws -> [String: Data] {
            var bytes: [String: Data] = [:]
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.url.path(percentEncoded: false)) {
                bytes[name] = try Data(contentsOf: folder.url.appending(path: name))
            }
            return bytes
        }
        func head(of path: String) async throws -> Int64 {
            let store = try TokenServerStore(readingAt: path)
            let head = try await AuditReader(store: store).verify().head.sequence
            try store.close()
            return head
        }
        // What a server that was killed has not moved to its file yet is read where it is.
        let killed = try Folder()
        for ending in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: world.path + ending, toPath: killed.path("store" + ending))
        }
        var before = try bytes(killed)
        #expect(try await head(of: killed.path("store")) == 3)
        // The memory that processes share for a log holds nothing that is kept.
        #expect(try bytes(killed).filter { $0.key != "store-shm" } == before)

        try world.store.close()
        let alone = try Folder()
        try FileManager.default.copyItem(atPath: world.path, toPath: alone.path("store ?#%"))
        before = try bytes(alone)
        #expect(try await head(of: alone.path("store ?#%")) == 3)
        #expect(try bytes(alone) == before)
        guard case .usable(.current) = TokenServerStore.inspect(file: alone.path("store ?#%")) else {
            Issue.record("a store that can be read was found unusable")
            return
        }
        #expect(try bytes(alone) == before)
    }

    @Test func `a store that a server writes is read with all that the server keeps meanwhile`() async throws {
        let world = try TemporaryStore()
        try await world.append(2)
        let file = try Data(contentsOf: URL(filePath: world.path))
        let reader = try TokenServerStore(readingAt: world.path)
        #expect(try await AuditReader(store: reader).verify().head.sequence == 2)
        try await world.append(1)
        #expect(try await AuditReader(store: reader).verify().head.sequence == 3)
        try reader.close()
        #expect(try Data(contentsOf: URL(filePath: world.path)) == file)
        try await world.append(1)
        #expect(try await world.reader.verify().head.sequence == 4)
    }

    /// A process of its own stops being root's, as root may write whatever the mode.
    ///
    /// A disk that can only be read is tried by the clients in Python.
    @Test func `a store in a folder that may not be written is read`() async {
        await #expect(processExitsWith: .success) {
            if geteuid() == 0 { try #require(setuid(65_534) == 0) }
            let world = try TemporaryStore()
            try await world.append(3)
            try world.store.close()
            let folder = try Folder()
            try FileManager.default.copyItem(atPath: world.path, toPath: folder.path("store ?#%"))
            func allow(_ mode: Int) throws {
                try FileManager.default.setAttributes(
                    [.posixPermissions: mode], ofItemAtPath: folder.url.path(percentEncoded: false))
            }
            try allow(0o500)
            #expect(throws: (any Error).self) { try Data().write(to: folder.url.appending(path: "other")) }
            let store = try TokenServerStore(readingAt: folder.path("store ?#%"))
            #expect(try await AuditReader(store: store).verify().head.sequence == 3)
            try store.close()
            try allow(0o700)
        }
    }

    @Test func `what SQLite says to a change is told in words, and nothing is kept`() async throws {
        let world = try TemporaryStore()
        let assignments = StoredAssignments(store: world.store)
        let van = AssignedResource.vehicle(try VehicleID(checking: "veh-1"))
        func assign(to subject: String) async throws {
            let holder = CallerID(issuer: "idp", subject: subject)
            try await world.assign(Assignment(holder: holder, resource: van, start: Date(timeIntervalSince1970: 0)))
        }
        func set(_ pragma: String) async throws {
            _ = try await world.store.database.write { try $0.execute("PRAGMA \(pragma)", []) }
        }
        // SQLite takes the least that is possible for it: what the file has.
        try await set("max_page_count = 1")
        let full = await #expect(throws: TokenServerError.self) {
            try await assign(to: String(repeating: "x", count: 1_000_000))
        }
        #expect(full?.code == .storeUnreachable)
        #expect(full?.message.contains("has no room on its disk; nothing in it was changed. Make room") == true)
        #expect(try await assignments.assignments(of: nil, to: nil, at: nil, limit: 9).isEmpty)
        try await set("max_page_count = 1000000")
        try await assign(to: "dora")
        try await set("query_only = 1")
        let readOnly = await #expect(throws: TokenServerError.self) { try await assign(to: "dirk") }
        #expect(readOnly?.code == .storeUnreachable)
        #expect(readOnly?.message.contains("can only be read; nothing in it was changed") == true)
        #expect(try await assignments.assignments(of: nil, to: nil, at: nil, limit: 9).count == 1)
        let unknown = await #expect(throws: TokenServerError.self) {
            try await world.store.database.read { _ = try $0.execute("SELECT secret FROM nowhere", []) }
        }
        #expect(unknown?.code == .storeUnavailable)
        #expect(unknown?.message.contains("no such table: nowhere") == true)
        #expect(unknown?.message.contains("SELECT") == false)
    }

    @Test(arguments: [
        (ResultCode.SQLITE_FULL, TokenServerError.Code.storeUnreachable, "has no room on its disk"),
        (.SQLITE_BUSY, .storeUnreachable, "is kept busy by another process"),
        (.SQLITE_READONLY, .storeUnreachable, "can only be read"),
        (.SQLITE_IOERR_READ, .storeUnreachable, "is on a disk that fails: words. Mend"),
        (.SQLITE_CANTOPEN, .storeUnavailable, "cannot be opened: words. Make it"),
        (.SQLITE_CORRUPT, .storeUnavailable, "is damaged or no database: words. Put back"),
        (.SQLITE_NOTADB, .storeUnavailable, "is damaged or no database: words. Put back"),
        (.SQLITE_ERROR, .storeUnavailable, "cannot be used: words. Put back"),
    ])
    func `what SQLite says tells what may pass from what is to be mended`(
        said: ResultCode, code: TokenServerError.Code, words: String
    ) {
        let error = TokenServerError(DatabaseError(resultCode: said, message: "words"), of: "/data/store")
        #expect(error.code == code)
        #expect(error.message.hasPrefix("The token server's store /data/store \(words)"), "\(error)")
    }

    /// Whoever moves it away for a new one loses what a backup may still have.
    @Test(arguments: [(0x00, 0), (0xFF, 0), (0xFF, 4096), (0x61, 0)] as [(UInt8, Int)])
    func `a damaged store is told as one, whatever it is opened for, and stays as it is`(
        byte: UInt8, begin: Int
    ) throws {
        let folder = try Folder()
        let path = folder.path("store")
        try TokenServerStore(creatingAt: path).close()
        let file = folder.url.appending(path: "store")
        let whole = try Data(contentsOf: file)
        let damaged = whole.prefix(begin) + Data(repeating: byte, count: whole.count - begin)
        try damaged.write(to: file)
        for open in [
            TokenServerStore.init(creatingAt:), TokenServerStore.init(openingAt:), TokenServerStore.init(readingAt:),
            TokenServerStore.init(listingAt:),
        ] as [(String) throws -> TokenServerStore] {
            let error = #expect(throws: TokenServerError.self) { try open(path) }
            #expect(error?.code == .storeUnavailable)
            #expect(error?.message.hasPrefix("The token server's store \(path) is damaged or no database: ") == true)
            #expect(error?.message.hasSuffix(". Put back a backup of it, or name another.") == true)
        }
        guard case .unusable(let problem, next: let next) = TokenServerStore.inspect(file: path) else {
            Issue.record("It cannot be used.")
            return
        }
        #expect(problem.hasPrefix("The token server's store \(path) cannot be read: ") && !problem.contains("SELECT"))
        #expect(next.contains("put back a backup of it"))
        #expect(try Data(contentsOf: file) == damaged)
    }

    @Test func `what is in the way of a store is told in words`() throws {
        let folder = try Folder()
        try Data().write(to: folder.url.appending(path: "file"))
        func problem(_ open: () throws -> TokenServerStore) -> String? {
            let error = #expect(throws: TokenServerError.self, performing: open)
            return error?.message
        }
        let gone = problem { try TokenServerStore(readingAt: folder.path("gone")) }
        #expect(gone?.contains("\(folder.path("gone")) is missing") == true)
        let itself = problem { try TokenServerStore(readingAt: folder.url.path(percentEncoded: false)) }
        #expect(itself?.contains("is a folder, not a file") == true)
        let below = problem { try TokenServerStore(readingAt: folder.path("file/store")) }
        #expect(below?.contains("\(folder.path("file")) is a file, not a folder") == true)
        let unmade = problem { try TokenServerStore(creatingAt: folder.path("gone/store")) }
        #expect(unmade?.contains("cannot be made: \(folder.path("gone")) is missing") == true)
    }
}

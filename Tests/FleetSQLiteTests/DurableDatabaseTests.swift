// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import GRDB
import Testing

@testable import FleetSQLite

@Suite struct DurableDatabaseTests {
    /// A file in a folder that is gone with the value.
    final class Place: Sendable {
        private let folder = URL.temporaryDirectory.appending(path: "fleetpass-\(UUID().uuidString)")

        init() throws {
            try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(at: self.folder) }

        var file: String { self.path("store") }

        func path(_ name: String) -> String { self.folder.appending(path: name).path(percentEncoded: false) }

        func open(logLimit: Int64 = DurableDatabase.logLimit) throws -> DurableDatabase {
            try DurableDatabase(self.file, configuration: .patient, migrator: Self.migrator, logLimit: logLimit)
        }

        static var migrator: DatabaseMigrator {
            var migrator = DatabaseMigrator()
            migrator.registerMigration("1 things") { try $0.execute(sql: "CREATE TABLE thing (content BLOB)") }
            migrator.registerMigration("2 others") { try $0.execute(sql: "CREATE TABLE other (content BLOB)") }
            return migrator
        }
    }

    private static func keep(_ bytes: Int, in store: DurableDatabase) throws {
        try store.pool.write { database in
            try store.checkPlace(of: database)
            try database.execute(sql: "INSERT INTO thing VALUES (zeroblob(?))", arguments: [bytes])
        }
    }

    @Test func `a commit waits for the disk`() throws {
        let store = try Place().open()
        let settings = try store.pool.writeWithoutTransaction { database in
            (
                try Int.fetchOne(database, sql: "PRAGMA synchronous"),
                try String.fetchOne(database, sql: "PRAGMA journal_mode")
            )
        }
        #expect(settings == (2, "wal"))
        try store.close()
    }

    @Test func `tables are in the file alone from the start, and all else once it is closed`() throws {
        let place = try Place()
        func copied<Result>(_ name: String, _ body: (Database) throws -> Result) throws -> Result {
            try FileManager.default.copyItem(atPath: place.file, toPath: place.path(name))
            let queue = try DatabaseQueue(path: place.path(name))
            defer { try? queue.close() }
            return try queue.read(body)
        }
        let store = try place.open()
        let hasTables = try copied("begun") { try $0.tableExists("other") }
        #expect(hasTables)
        try Self.keep(10, in: store)
        // Whoever only reads is closed last, and moves nothing.
        let count: (Database) throws -> Int? = { try Int.fetchOne($0, sql: "SELECT count(*) FROM thing") }
        let before = try store.pool.read(count)
        try store.close()
        let after = try copied("closed", count)
        #expect(before == 1 && after == 1)
    }

    @Test func `a -wal that grew while somebody looked is short again when it is begun anew`() throws {
        let place = try Place()
        let limit: Int64 = 64 * 1024
        let store = try place.open(logLimit: limit)
        var configuration = Configuration.patient
        configuration.allowsUnsafeTransactions = true
        let reader = try DatabaseQueue(path: place.file, configuration: configuration)
        try reader.writeWithoutTransaction { database in
            try database.execute(sql: "BEGIN")
            #expect(try Int.fetchOne(database, sql: "SELECT count(*) FROM thing") == 0)
        }
        for _ in 0..<3 { try Self.keep(5_000_000, in: store) }
        #expect(store.files.logBytes > 10_000_000)
        try reader.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        // One moves all to the file, the next begins anew.
        for _ in 0..<2 { try Self.keep(10, in: store) }
        #expect(store.files.logBytes <= limit)
        try reader.close()
        try store.close()
    }

    @Test(arguments: [1, 2])
    func `processes that start together bring the tables up to date together`(step: Int) throws {
        let place = try Place()
        let begun = Locked(0)
        var configuration = Configuration.patient
        configuration.prepareDatabase { database in
            database.trace { event in
                // Looked which steps are due, and has not begun this one.
                guard "\(event)" == "BEGIN IMMEDIATE TRANSACTION",
                    begun.withLock({ begun in
                        begun += 1
                        return begun == step
                    })
                else { return }
                #expect(throws: Never.self) { try place.open().close() }
            }
        }
        let store = try DurableDatabase(place.file, configuration: configuration, migrator: Place.migrator)
        #expect(begun.withLock { $0 } >= step)
        try Self.keep(10, in: store)
        try store.close()
    }

    @Test func `a step that fails is told`() throws {
        let place = try Place()
        var migrator = Place.migrator
        migrator.registerMigration("3 broken") { try $0.execute(sql: "CREATE TABLE thing (content BLOB)") }
        let error = #expect(throws: DatabaseError.self) {
            try DurableDatabase(place.file, configuration: .patient, migrator: migrator)
        }
        #expect(error?.message == "table thing already exists")
    }

    @Test func `tables of a newer version are left as they are`() throws {
        let place = try Place()
        let store = try place.open()
        try store.pool.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('3 from the future')") }
        try store.close()
        #expect(throws: DurableDatabase.Superseded.self) { try place.open() }
    }

    @Test(arguments: ["store", "store-wal", "store-shm"])
    func `nothing is written to files that are elsewhere, until they are back`(name: String) async throws {
        let place = try Place()
        let store = try place.open()
        try Self.keep(10, in: store)
        try FileManager.default.moveItem(atPath: place.path(name), toPath: place.path("gone"))
        // Of the file itself SQLite tells by itself.
        if name == "store" { #expect(throws: DurableDatabase.FileMoved.self) { try Self.keep(10, in: store) } }
        let moved = await #expect(throws: DurableDatabase.FileMoved.self) { try await store.look() }
        #expect(moved?.path == place.file)
        #expect(throws: DurableDatabase.FileMoved.self) { try Self.keep(10, in: store) }
        try FileManager.default.moveItem(atPath: place.path("gone"), toPath: place.path(name))
        // Nobody has to look first.
        try Self.keep(10, in: store)
        try await store.look()
        try store.close()
        // Whoever closed it misses nothing.
        try FileManager.default.removeItem(atPath: place.path(name))
        try await store.look()
    }

    /// A process that opened the file since makes a `-shm` of its own, and writes to the `-wal` by that one.
    @Test(arguments: [false, true])
    func `what is beside the file is left to whoever has another -shm`(hasAnother: Bool) throws {
        let place = try Place()
        let store = try place.open()
        try Self.keep(10, in: store)
        try FileManager.default.removeItem(atPath: place.path("store-shm"))
        if hasAnother { try Data().write(to: URL(filePath: place.path("store-shm"))) }
        let bytes = store.files.logBytes
        try store.close()
        #expect(bytes > 0 && store.files.logBytes == (hasAnother ? bytes : 0))
        let next = try place.open()
        #expect(try next.pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM thing") } == 1)
        try next.close()
    }

    @Test func `another process that writes is waited for again after a moment of less patience`() throws {
        let store = try Place().open()
        func patience() throws -> Int? {
            try store.pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA busy_timeout") }
        }
        #expect(try patience() == 5000)
        try store.pool.writeWithoutTransaction { try $0.setPatience(milliseconds: 7) }
        #expect(try patience() == 7)
        try store.pool.writeWithoutTransaction { try $0.setPatience() }
        #expect(try patience() == 5000)
        try store.close()
    }
}

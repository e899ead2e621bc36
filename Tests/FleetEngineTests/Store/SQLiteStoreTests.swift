// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FleetEngineAPI
import FleetSQLite
import FleetTokens
import Foundation
import GRDB
import Logging
import SwiftProtobuf
import Testing

@testable import FleetEngine

/// One after another, as some hold a thread of the store while they look on.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SQLiteStoreTests {
    private struct Refused: Error {}

    @Test func `what was acknowledged is there after reopening`() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "engine.sqlite").path
            let first = try SQLiteStore(path: path)
            try await first.write { try $0.put(Vehicle.at(1, 2, name: "kept"), TestID.vehicle, of: TestID.acme) }
            // The first store is neither closed nor asked to flush: another reader of the file sees the commit.
            let pool = try SQLiteSchema.open(path).pool
            let name = try await pool.read { database in
                try SQLiteReader(database: database).vehicle(TestID.vehicle, of: TestID.acme)?.name
            }
            #expect(name == "kept")
            try await first.close()
            let second = try SQLiteStore(path: path)
            #expect(try await second.read { try $0.vehicle(TestID.vehicle, of: TestID.acme)?.name } == "kept")
            try await second.close()
        }
    }

    @Test func `what was acknowledged is in the file alone once the store is closed`() async throws {
        try await withTemporaryFolder { folder in
            func path(_ name: String) -> String { folder.appending(path: name).path }
            let store = try SQLiteStore(path: path("engine.sqlite"))
            // From the start, the file has the tables.
            try FileManager.default.copyItem(atPath: path("engine.sqlite"), toPath: path("new.sqlite"))
            let tables = try DatabaseQueue(path: path("new.sqlite"))
            #expect(try await tables.read { try $0.tableExists("vehicle") })
            try tables.close()

            try await store.write { try $0.put(Vehicle.at(1, 2, name: "kept"), TestID.vehicle, of: TestID.acme) }
            _ = try await store.read { try $0.vehicle(TestID.id("gone"), of: TestID.acme) }
            try await store.close()
            try FileManager.default.copyItem(atPath: path("engine.sqlite"), toPath: path("copy.sqlite"))
            let copy = try SQLiteStore(path: path("copy.sqlite"))
            #expect(try await copy.read { try $0.vehicle(TestID.vehicle, of: TestID.acme)?.name } == "kept")
            try await copy.close()
        }
    }

    @Test func `a vehicle's row is what its last update made of it, whatever came before`() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "engine.sqlite").path
            let store = try SQLiteStore(path: path)
            let fixture = EngineFixture(store: store)
            try await fixture.createVehicle("veh-1")
            let located = { (latitude: Double) in
                { (vehicle: inout Vehicle) in vehicle.lastLocation = .at(latitude, 7) }
            }
            let updates: [(mask: [String], change: (inout Vehicle) -> Void)] = [
                (["last_location"], located(48.1)), (["last_location"], located(48.2)),
                (["vehicle_state"], { $0.vehicleState = .offline }), (["last_location"], located(48.3)),
                (["vehicle_state", "last_location"], { $0.vehicleState = .online }),
                (["last_location.heading"], { $0.lastLocation.heading = 90 }), (["last_location"], located(48.4)),
                (["maximum_capacity"], { $0.maximumCapacity = 6 }),
                (["last_location", "eta_to_first_waypoint"], { $0.etaToFirstWaypoint.seconds = 1_800_000_900 }),
                (["remaining_time_seconds"], { $0.remainingTimeSeconds.value = 60 }),
                (["last_location", "current_route_segment"], { $0.currentRouteSegment = "yokcFvpahV" }),
                (["last_location", "remaining_distance_meters"], located(48.5)),
                (["device_settings", "past_locations"], { $0.deviceSettings.isPowerSaveMode = true }),
            ]
            let pool = try SQLiteSchema.open(path).pool
            for (index, update) in (updates + updates).enumerated() {
                fixture.advance(by: 5)
                let answer = try await fixture.updateVehicle("veh-1", update.mask, update.change)
                let known = try await store.read { try $0.vehicle(TestID.vehicle, of: TestID.acme) }
                let kept = try await pool.read { database in
                    try SQLiteReader(database: database).vehicle(TestID.vehicle, of: TestID.acme)
                }
                #expect(kept == known, "\(index): \(update.mask)")
                #expect(kept?.lastLocation == answer.lastLocation, "\(index): \(update.mask)")
                if index % updates.count == 2 { #expect(kept?.vehicleState == .offline) }
            }
            try await store.close()
        }
    }

    @Test func `nothing is acknowledged while the store's file is elsewhere`() async throws {
        try await withTemporaryFolder { folder in
            let store = try SQLiteStore(path: folder.appending(path: "engine.sqlite").path)
            let gone = folder.appending(path: "gone")
            try FileManager.default.createDirectory(at: gone, withIntermediateDirectories: true)
            let names = ["", "-wal", "-shm"].map { "engine.sqlite" + $0 }
            func move(from: URL, to: URL) throws {
                for name in names {
                    try FileManager.default.moveItem(at: from.appending(path: name), to: to.appending(path: name))
                }
            }
            func put(_ name: String) async throws {
                try await store.write { try $0.put(Vehicle.at(1, 2, name: name), TestID.vehicle, of: TestID.acme) }
            }
            try await put("before")
            try move(from: folder, to: gone)
            let error = await #expect(throws: EngineError.self) { try await put("lost") }
            #expect(error?.reason == "STORE_REPLACED" && error?.code == .unavailable)
            let moved = await #expect(throws: DurableDatabase.FileMoved.self) { try await store.probe() }
            // As the log has it.
            let told = moved.map { "\($0)" } ?? ""
            #expect(told.contains(folder.appending(path: "engine.sqlite").path))
            #expect(told.hasSuffix("; put that very file back, or restart what uses it"))
            #expect(try await store.read { try $0.vehicle(TestID.vehicle, of: TestID.acme)?.name } == "before")
            try move(from: gone, to: folder)
            try await store.probe()
            try await put("after")
            try await store.close()
        }
    }

    @Test(arguments: ["engine.sqlite-wal", "engine.sqlite-shm", "engine.sqlite-lock"], [false, true])
    func `nothing is acknowledged once a look missed what is beside the store's file, until it is back`(
        name: String, isReplaced: Bool
    ) async throws {
        try await withTemporaryFolder { folder in
            let store = try SQLiteStore(path: folder.appending(path: "engine.sqlite").path)
            let (here, there) = (folder.appending(path: name), folder.appending(path: "gone"))
            func put(_ name: String) async throws {
                try await store.write { try $0.put(Vehicle.at(1, 2, name: name), TestID.vehicle, of: TestID.acme) }
            }
            try await put("before")
            try FileManager.default.moveItem(at: here, to: there)
            if isReplaced { try FileManager.default.copyItem(at: there, to: here) }
            await #expect(throws: DurableDatabase.FileMoved.self) { try await store.probe() }
            let error = await #expect(throws: EngineError.self) { try await put("lost") }
            #expect(error?.reason == "STORE_REPLACED" && error?.code == .unavailable)
            if isReplaced { try FileManager.default.removeItem(at: here) }
            try FileManager.default.moveItem(at: there, to: here)
            // Nobody has to look first.
            try await put("after")
            try await store.probe()
            try await store.close()
        }
    }

    @Test func `a file is one store's until that is closed`() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "engine.sqlite").path
            let first = try SQLiteStore(path: path)
            let error = try #require(throws: EngineError.self) { try SQLiteStore(path: path) }
            #expect(error.reason == "STORE_BUSY" && error.message.contains(path))
            try await first.close()
            try await SQLiteStore(path: path).close()
        }
    }

    @Test(arguments: [("engine.sqlite", "link.sqlite"), ("link.sqlite", "engine.sqlite")])
    func `a file is one store's, whatever links lead to it`(_ name: String, _ other: String) async throws {
        try await withTemporaryFolder { folder in
            func path(_ name: String) -> String { folder.appending(path: name).path }
            try await SQLiteStore(path: path("engine.sqlite")).close()
            try FileManager.default.createSymbolicLink(
                atPath: path("link.sqlite"), withDestinationPath: "engine.sqlite")
            let first = try SQLiteStore(path: path(name))
            let error = try #require(throws: EngineError.self) { try SQLiteStore(path: path(other)) }
            #expect(error.reason == "STORE_BUSY" && error.message.contains(path(other)))
            try await first.close()
            try await SQLiteStore(path: path(other)).close()
        }
    }

    @Test func `a store that cannot be kept from other processes is refused`() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "engine.sqlite").path
            try FileManager.default.createDirectory(
                atPath: path + "-lock", withIntermediateDirectories: false)
            let error = try #require(throws: EngineError.self) { try SQLiteStore(path: path) }
            #expect(error.reason == "STORE_NOT_WRITABLE")
            #expect(error.message.contains("\(path)-lock cannot be locked (Is a directory)"))
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func `the file is readable by its owner alone`() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "engine.sqlite").path
            let store = try SQLiteStore(path: path)
            try await store.write { try $0.put(Trip(), TestID.trip, of: TestID.acme) }
            for file in [path, path + "-wal"] {
                let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
                #expect(mode == 0o600)
            }
            try await store.close()
        }
    }

    @Test func `the -wal is begun anew though there is always some list under way`() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "engine.sqlite").path
            let limit: Int64 = 256 * 1024
            let store = try SQLiteStore(path: path, logLimit: limit)
            /// Some 20 KiB, so that few writes are much.
            func put(_ number: Int, _ name: String) async throws {
                let vehicle = Vehicle.at(1, 2, name: name + String(repeating: "n", count: 20_000))
                try await store.write { try $0.put(vehicle, TestID.id("veh-\(number)"), of: TestID.acme) }
            }
            for number in 0..<100 { try await put(number, "before") }
            let begun = [DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)]
            let isOver = Locked(false)
            let shortened = try await withThrowingTaskGroup(of: Void.self) { group in
                for own in 0...1 {
                    group.addTask {
                        // Each list ends after one of the other's has begun, the last ones but for the end of it all.
                        defer { begun[own].signal() }
                        let isFirst = Locked(own == 1)
                        while !isOver.withLock({ $0 }) {
                            try await store.read { reader in
                                var count = 0
                                try reader.scan(StoreScan(), of: TestID.acme) { (_, _: Vehicle) in
                                    count += 1
                                    guard count == 1 else { return true }
                                    // What the other's first list began with is no sign of its next.
                                    if isFirst.withLock({ $0 }) { begun[0].wait() }
                                    isFirst.withLock { $0 = false }
                                    begun[own].signal()
                                    return true
                                }
                                begun[1 - own].wait()
                            }
                        }
                    }
                }
                defer { isOver.withLock { $0 = true } }
                var length: Int64 = 0
                var shortened = 0
                // Some lists may take too long for one attempt.
                for number in 0..<2000 where shortened < 2 {
                    try await put(number % 100, "\(number)")
                    let attributes = try FileManager.default.attributesOfItem(atPath: path + "-wal")
                    let former = length
                    length = try #require((attributes[.size] as? NSNumber)?.int64Value)
                    if length < former { shortened += 1 }
                }
                return shortened
            }
            #expect(shortened == 2)
            try await store.close()
        }
    }

    // MARK: - Opening

    @Test func `a missing folder is named with its fix`() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "no/such/folder/engine.sqlite").path
            let error = try #require(throws: EngineError.self) { try SQLiteStore(path: path) }
            #expect(error.reason == "STORE_NOT_WRITABLE")
            #expect(error.message.contains(path))
        }
    }

    @Test func `a file that is no database is refused and left as it is`() async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appending(path: "notes.txt")
            let text = Data(String(repeating: "this is not a database. ", count: 100).utf8)
            try text.write(to: file)
            let error = try #require(throws: EngineError.self) { try SQLiteStore(path: file.path) }
            #expect(error.reason == "STORE_NOT_A_DATABASE")
            #expect(try Data(contentsOf: file) == text)
        }
    }

    @Test(arguments: [
        "CREATE TABLE thing (id INTEGER)",
        "CREATE TABLE grdb_migrations (identifier TEXT); INSERT INTO grdb_migrations VALUES ('1 of another')",
    ])
    func `a file in which another program keeps something is refused and left as it is`(sql: String) async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appending(path: "other.sqlite")
            let other = try DatabaseQueue(path: file.path)
            try await other.writeWithoutTransaction { try $0.execute(sql: sql) }
            try other.close()
            let before = try Data(contentsOf: file)
            let error = try #require(throws: EngineError.self) { try SQLiteStore(path: file.path) }
            #expect(error.code == .failedPrecondition && error.reason == "STORE_FOREIGN")
            #expect(error.message.contains("\(file.path) holds what another program keeps"))
            #expect(try Data(contentsOf: file) == before)
        }
    }

    @Test func `an engine that was killed before it made its tables makes them when it starts again`() async throws {
        try await withTemporaryFolder { folder in
            for (name, sql) in [
                ("empty", ""), ("steps", "CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)"),
            ] {
                let path = folder.appending(path: name).path
                let begun = try DatabaseQueue(path: path)
                try await begun.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL; \(sql)") }
                try begun.close()
                let store = try SQLiteStore(path: path)
                try await store.write { try $0.put(Trip(), TestID.trip, of: TestID.acme) }
                try await store.close()
            }
        }
    }

    @Test func `a link that leads nowhere is no store`() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "link.sqlite").path
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "gone.sqlite")
            let error = try #require(throws: EngineError.self) { try SQLiteStore(path: path) }
            #expect(error.reason == "STORE_NOT_WRITABLE")
            #expect(!FileManager.default.fileExists(atPath: folder.appending(path: "gone.sqlite").path))
        }
    }

    @Test(arguments: [
        (ResultCode.SQLITE_FULL, EngineError.Code.unavailable, "STORE_FULL", "has no room on its disk"),
        (.SQLITE_BUSY, .unavailable, "STORE_BUSY", "is kept busy by another process"),
        (.SQLITE_READONLY, .unavailable, "STORE_READ_ONLY", "can only be read"),
        (.SQLITE_IOERR_READ, .unavailable, "STORE_DISK_FAILED", "is on a disk that fails: words. Mend"),
        (.SQLITE_CANTOPEN, .failedPrecondition, "STORE_NOT_WRITABLE", "cannot be opened for writing"),
        (.SQLITE_NOTADB, .failedPrecondition, "STORE_NOT_A_DATABASE", "is not an intact SQLite database"),
        (.SQLITE_ERROR, .failedPrecondition, "STORE_UNUSABLE", "cannot be opened: "),
    ])
    func `what SQLite says at the opening tells what may pass from what is to be mended`(
        said: ResultCode, code: EngineError.Code, reason: String, words: String
    ) {
        let error = SQLiteSchema.opening(
            "/data/store", failedWith: DatabaseError(resultCode: said, message: "words"))
        #expect(error.code == code)
        #expect(error.reason == reason)
        #expect(error.message.contains(" /data/store \(words)"), "\(error)")
    }

    @Test(arguments: [
        (ResultCode.SQLITE_FULL, "STORE_FULL"), (.SQLITE_IOERR_SHMSIZE, "STORE_FULL"),
        (.SQLITE_IOERR_WRITE, "STORE_DISK_FAILED"), (.SQLITE_READONLY, "STORE_DISK_FAILED"),
        (.SQLITE_CANTOPEN, "STORE_DISK_FAILED"), (.SQLITE_CORRUPT, "STORE_DISK_FAILED"),
        (.SQLITE_BUSY, "STORE_COMMIT_FAILED"),
    ])
    func `callers are told what kept a change from being stored`(said: ResultCode, reason: String) {
        let error = EngineError(committing: DatabaseError(resultCode: said), to: "/data/store")
        #expect(error.code == .unavailable)
        #expect(error.reason == reason)
    }

    @Test(
        arguments: [
            (.SQLITE_FULL, "STORE_FULL"), (.SQLITE_IOERR_READ, "STORE_DISK_FAILED"),
            (.SQLITE_CORRUPT, "STORE_DISK_FAILED"), (.SQLITE_NOTADB, "STORE_DISK_FAILED"),
            (.SQLITE_BUSY, "STORE_UNAVAILABLE"), (.SQLITE_ERROR, nil), (.SQLITE_MISUSE, nil),
        ] as [(ResultCode, String?)])
    func `callers are told what kept the store from being read, unless the engine did`(
        said: ResultCode, reason: String?
    ) {
        let error = EngineError(reading: DatabaseError(resultCode: said), of: "/data/store")
        #expect(error?.reason == reason)
        #expect(error == nil || error?.code == .unavailable)
    }

    @Test(arguments: [
        (EROFS, EngineError.Code.unavailable, "STORE_READ_ONLY", "can only be read"),
        (ENOSPC, .unavailable, "STORE_FULL", "has no room on its disk"),
        (EDQUOT, .unavailable, "STORE_FULL", "has no room on its disk"),
        (ENOENT, .failedPrecondition, "STORE_NOT_WRITABLE", "cannot be kept from other processes"),
        (EACCES, .failedPrecondition, "STORE_NOT_WRITABLE", "cannot be kept from other processes"),
    ])
    func `a lock that cannot be had for now is told as what may pass`(
        problem: CInt, code: EngineError.Code, reason: String, words: String
    ) {
        let error = StoreFileLock.failure(problem, locking: "/data/store-lock", of: "/data/store")
        #expect(error.code == code)
        #expect(error.reason == reason)
        #expect(error.message.hasPrefix("The store /data/store \(words)"), "\(error)")
    }

    @Test func `a store of a newer version is refused`() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "engine.sqlite").path
            let pool = try SQLiteSchema.open(path).pool
            try await pool.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('999 from the future')") }
            try pool.close()
            let error = try #require(throws: EngineError.self) { try SQLiteStore(path: path) }
            #expect(error.reason == "STORE_TOO_NEW")
        }
    }

    @Test func `a file of the first version is taken over`() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "engine.sqlite").path
            let old = try DatabaseQueue(path: path)
            let trip = Trip.with {
                $0.vehicleID = "veh-1"
                $0.tripStatus = .enrouteToPickup
            }
            let (vehicleData, tripData): (Data, Data) = (
                try Vehicle.at(1, 2, name: "old").serializedBytes(), try trip.serializedBytes()
            )
            try await old.write { database in
                try database.execute(
                    sql: """
                        CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
                        INSERT INTO grdb_migrations VALUES ('1 vehicles and trips');
                        CREATE TABLE vehicle (
                            provider TEXT NOT NULL, id TEXT NOT NULL, online INTEGER NOT NULL, latitude REAL,
                            longitude REAL, message BLOB NOT NULL, PRIMARY KEY (provider, id)
                        ) STRICT;
                        CREATE INDEX vehicle_online_place ON vehicle (provider, latitude, longitude) WHERE online = 1;
                        CREATE TABLE trip (
                            provider TEXT NOT NULL, id TEXT NOT NULL, message BLOB NOT NULL,
                            PRIMARY KEY (provider, id)
                        ) STRICT;
                        """
                )
                try database.execute(
                    sql: "INSERT INTO vehicle VALUES ('acme', 'veh-1', 1, 1, 2, ?)", arguments: [vehicleData])
                try database.execute(
                    sql: "INSERT INTO trip VALUES ('acme', 'trip-1', ?)", arguments: [tripData])
            }
            try old.close()
            let store = try SQLiteStore(path: path)
            let (vehicles, trips) = try await store.read { reader in
                var trips: [String] = []
                try reader.scan(StoreScan(isActiveOnly: true, holder: "veh-1"), of: TestID.acme) { (id, _: Trip) in
                    trips.append(id)
                    return true
                }
                return (try reader.onlineVehicles(of: TestID.acme, in: .world).map(\.name), trips)
            }
            #expect(vehicles == ["old"])
            #expect(trips == ["trip-1"])
            try await store.close()
        }
    }

    @Test func `a spatial index that knew no providers is filled anew`() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "engine.sqlite").path
            let former = try DatabaseQueue(path: path)
            try SQLiteSchema.migrator.migrate(former, upTo: "3 spatial index")
            let place = GeoBox(south: 0.999, west: 1.999, north: 1.001, east: 2.001)
            // Where each is lies a little from where the index has it, as after reports nearby.
            let vehicles: [(number: Int, provider: ProviderID, isOnline: Bool)] = [
                (1, TestID.acme, true), (2, TestID.acme, false), (3, TestID.other, true),
            ]
            let nowhere: Data = try Vehicle().serializedBytes()
            try await former.write { database in
                for (number, provider, isOnline) in vehicles {
                    let message: Data = try Vehicle.at(1, 2, name: "\(number)", online: isOnline).serializedBytes()
                    try database.execute(
                        sql: """
                            INSERT INTO vehicle VALUES (?, ?, ?, ?, NULL, NULL, 1, 2, 1.0015, 2, 1, ?);
                            INSERT INTO vehicle_place VALUES (?, 1.998, 2.002, 0.9995, 1.0035, ?, ?);
                            """,
                        arguments: [
                            number, provider.value, "veh-\(number)", isOnline, message, number, isOnline ? 1 : 0,
                            isOnline ? 2 : 1,
                        ])
                }
                try database.execute(
                    sql: "INSERT INTO vehicle VALUES (4, 'acme', 'veh-4', 1, NULL, NULL, NULL, NULL, NULL, NULL, 1, ?)",
                    arguments: [nowhere])
            }
            try former.close()
            let store = try SQLiteStore(path: path)
            let found = try await store.read { reader in
                var all: [String] = []
                try reader.scan(StoreScan(box: place), of: TestID.acme) { (id, _: Vehicle) in
                    all.append(id)
                    return true
                }
                let online = try [TestID.acme, TestID.other].map { provider in
                    try reader.onlineVehicles(of: provider, in: place).map(\.name)
                }
                return (all: all, online: online)
            }
            #expect(found.all == ["veh-1", "veh-2"])
            #expect(found.online == [["1"], ["3"]])
            // A report near the entry leaves it where the migration put it.
            try await store.write {
                try $0.put(Vehicle.at(1.003, 2, name: "1"), TestID.id("veh-1"), of: TestID.acme)
            }
            let (middle, shelf) = try await store.pool.read { database -> (Double?, Double?) in
                let entry = try Row.fetchOne(
                    database, sql: "SELECT (south + north) / 2, shelf_least FROM vehicle_place WHERE number = 1")
                return (entry?[0], entry?[1])
            }
            #expect(abs((middle ?? 0) - 1.0015) < 1e-6)
            #expect(shelf == Double(IndexedPlace.shelf(of: "acme", isActive: true)))
            try await store.close()
        }
    }

    @Test func `a search that looks at many vehicles is run again where lists are`() async throws {
        try await withTemporaryFolder { folder in
            let store = try SQLiteStore(path: folder.appending(path: "engine.sqlite").path)
            let limit = SQLiteStore.nearbyLimit
            try await store.write { transaction in
                for number in 0...limit {
                    let vehicle = Vehicle.at(1, 2, name: "\(number)")
                    try transaction.put(vehicle, TestID.id("veh-\(number)"), of: TestID.acme)
                }
            }
            for wanted in [limit, limit + 1] {
                let runs = Locked(0)
                let found = try await store.read { reader in
                    runs.withLock { $0 += 1 }
                    var found: Set<String> = []
                    try reader.scanVehicles(nearest: .at(1, 2), within: 100, of: TestID.acme) { _, vehicle in
                        found.insert(vehicle.name)
                        return found.count < wanted
                    }
                    return found
                }
                #expect(found.count == wanted)
                // The first one is over what is in memory.
                #expect(runs.withLock { $0 } == (wanted > limit ? 3 : 2))
            }
            try await store.close()
        }
    }

    @Test func `what other providers have in a place is not looked at`() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "engine.sqlite").path
            let store = try SQLiteStore(path: path)
            try await store.write { transaction in
                for number in 0..<500 {
                    try transaction.put(Vehicle.at(1, 2), TestID.id("veh-\(number)"), of: TestID.other)
                }
                try transaction.put(Vehicle.at(1, 2), TestID.id("online"), of: TestID.acme)
                try transaction.put(Vehicle.at(1, 2, online: false), TestID.id("offline"), of: TestID.acme)
            }
            for (isActiveOnly, count) in [(true, 1), (false, 2)] {
                let query = PlaceIndexQuery(.world, isActiveOnly: isActiveOnly, .vehicles, TestID.acme)
                let found = try await store.pool.read { database in
                    try Row.fetchAll(database, sql: query.sql, arguments: query.arguments).count
                }
                #expect(found == count)
            }
            try await store.close()
        }
    }

    @Test(arguments: [("acme", true, 7_191_583), ("acme", false, 7_191_582), ("other", true, 2_905_259)])
    func `a provider's place in the index never changes`(provider: String, isActive: Bool, shelf: Int64) {
        #expect(IndexedPlace.shelf(of: provider, isActive: isActive) == shelf)
        // Exact in the index, and so is what follows it.
        #expect(Int64(Float(shelf)) == shelf && Int64(Float(shelf + 1)) == shelf + 1)
    }

    @Test(arguments: [
        (StoreScan(after: "a"), "vehicle", "sqlite_autoindex_vehicle_1"),
        (StoreScan(holder: "veh-1"), "trip", "trip_holder"), (StoreScan(isActiveOnly: true), "trip", "trip_active"),
        (StoreScan(holder: "dv-1"), "task", "task_holder"), (StoreScan(tracking: "shp-1"), "task", "task_tracking"),
        (StoreScan(isActiveOnly: true), "task", "task_active"),
    ])
    func `an index serves each way of looking, and ids come in order without sorting`(
        scan: StoreScan, table: String, index: String
    ) async throws {
        try await withTemporaryFolder { folder in
            let pool = try SQLiteSchema.open(folder.appending(path: "engine.sqlite").path).pool
            let collection = try #require(StoreCollection(rawValue: table))
            let query = SQLiteQuery(scan, collection, TestID.acme)
            let plan = try await pool.read { database in
                try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + query.sql, arguments: query.arguments)
                    .map { $0["detail"] as String }
            }
            #expect(plan.count == 1, "\(plan)")
            #expect(plan[0].contains("USING INDEX \(index) (provider=?"), "\(plan)")
            try pool.close()
        }
    }

    @Test(arguments: [GeoBox.world, GeoBox(south: -20, west: 175, north: 20, east: -175)])
    func `a box is served by the spatial index, and by the numbers it gives`(box: GeoBox) async throws {
        try await withTemporaryFolder { folder in
            let pool = try SQLiteSchema.open(folder.appending(path: "engine.sqlite").path).pool
            let query = SQLiteQuery(StoreScan(isActiveOnly: true, box: box, isOrdered: false), .vehicles, TestID.acme)
            let plan = try await pool.read { database in
                try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + query.sql, arguments: query.arguments)
                    .map { $0["detail"] as String }
            }
            #expect(plan.contains { $0.contains("vehicle_place VIRTUAL TABLE INDEX 2:") }, "\(plan)")
            #expect(plan.contains { $0.hasPrefix("SEARCH resource USING INTEGER PRIMARY KEY") }, "\(plan)")
            try pool.close()
        }
    }

    @Test func `what is sorted by ids has no messages with it`() async throws {
        try await withTemporaryFolder { folder in
            let pool = try SQLiteSchema.open(folder.appending(path: "engine.sqlite").path).pool
            let query = SQLiteQuery(StoreScan(box: .world), .deliveryVehicles, TestID.acme, .numbers)
            let (plan, columns) = try await pool.read { database in
                (
                    try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + query.sql, arguments: query.arguments)
                        .map { $0["detail"] as String },
                    try database.makeStatement(sql: query.sql).columnNames
                )
            }
            #expect(plan.last == "USE TEMP B-TREE FOR ORDER BY", "\(plan)")
            #expect(columns == ["id", "number"])
            try pool.close()
        }
    }

    @Test(arguments: [(every: 1, isSorted: false), (every: 16, isSorted: false), (every: 17, isSorted: true)])
    func `a box that holds much of what there is is gone through along the ids`(
        every: Int, isSorted: Bool
    ) async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "engine.sqlite").path
            let store = try SQLiteStore(path: path)
            try await store.write { transaction in
                for number in 0..<(2 * SQLiteReader.step) {
                    let vehicle = Vehicle.at(number % every == 0 ? 1 : 50, 1)
                    try transaction.put(vehicle, TestID.id("veh-\(1000 + number)"), of: TestID.acme)
                }
            }
            let statements = Locked<[String]>([])
            let queue = try DatabaseQueue(path: path)
            let found = try await queue.read { database in
                database.trace { event in statements.withLock { $0.append("\(event)") } }
                var found: [String] = []
                let scan = StoreScan(box: GeoBox(south: 0, west: 0, north: 2, east: 2))
                try SQLiteReader(database: database).scan(scan, of: TestID.acme) { (id, _: Vehicle) in
                    found.append(id)
                    return true
                }
                return found
            }
            let wanted = stride(from: 0, to: 2 * SQLiteReader.step, by: every).map { "veh-\(1000 + $0)" }
            #expect(found == wanted)
            #expect(statements.withLock { $0.contains { $0.contains("vehicle_place") } } == isSorted)
            try queue.close()
            try await store.close()
        }
    }

    @Test func `reports nearby leave the spatial index alone, and what moved is found where it is`() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "engine.sqlite").path
            let store = try SQLiteStore(path: path)
            let steps: [(latitude: Double, online: Bool, indexed: Double)] = [
                (1, true, 1), (1.0019, true, 1), (0.9981, true, 1), (1.0021, true, 1.0021), (1.0002, true, 1.0021),
                (1.0002, false, 1.0002), (1.0003, true, 1.0003),
            ]
            for step in steps {
                try await store.write {
                    try $0.put(Vehicle.at(step.latitude, 2, online: step.online), TestID.vehicle, of: TestID.acme)
                }
                let queue = try DatabaseQueue(path: path)
                let entry = try queue.read { database in
                    try Row.fetchOne(database, sql: "SELECT (south + north) / 2, shelf_least FROM vehicle_place")
                }
                try queue.close()
                let (middle, shelf): (Double?, Double?) = (entry?[0], entry?[1])
                #expect(abs((middle ?? 0) - step.indexed) < 1e-6, "\(step)")
                #expect(shelf == Double(IndexedPlace.shelf(of: "acme", isActive: step.online)), "\(step)")
                let box = GeoBox(
                    south: step.latitude - 1e-5, west: 1.99999, north: step.latitude + 1e-5, east: 2.00001)
                let found = try await store.read { try $0.onlineVehicles(of: TestID.acme, in: box).count }
                #expect(found == (step.online ? 1 : 0), "\(step)")
            }
            try await store.close()
        }
    }

    @Test func `what has no place, or is removed, is not in the spatial index`() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "engine.sqlite").path
            let store = try SQLiteStore(path: path)
            func entries() throws -> Int? {
                let queue = try DatabaseQueue(path: path)
                defer { try? queue.close() }
                return try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM vehicle_place") }
            }
            func put(_ vehicle: Vehicle) async throws {
                try await store.write { try $0.put(vehicle, TestID.vehicle, of: TestID.acme) }
            }
            func remove() async throws {
                try await store.write { try $0.remove(TestID.vehicle, of: TestID.acme, as: Vehicle.self) }
            }
            try await put(Vehicle.at(1, 2))
            #expect(try entries() == 1)
            try await put(Vehicle())
            #expect(try entries() == 0)
            try await remove()
            try await put(Vehicle.at(1, 2))
            #expect(try entries() == 1)
            try await remove()
            #expect(try entries() == 0)
            #expect(try await store.read { try $0.onlineVehicles(of: TestID.acme, in: .world) }.isEmpty)
            try await store.close()
        }
    }

    @Test func `a full store says so, keeps what it acknowledged, and goes on when there is room`() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "engine.sqlite").path
            let store = try SQLiteStore(path: path)
            /// Limits the size of the file, as a disk that fills up does.
            func limit(_ pages: Int) async throws {
                try await store.pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = \(pages)") }
            }
            try await limit(60)
            var kept: [String] = []
            var refusal: EngineError?
            while refusal == nil, kept.count < 10_000 {
                let id = "trip-\(kept.count)"
                do {
                    try await store.write {
                        try $0.put(
                            Trip.with { $0.name = String(repeating: "n", count: 1000) }, TestID.id(id, TripID.self),
                            of: TestID.acme)
                    }
                    kept.append(id)
                } catch let error as EngineError {
                    refusal = error
                }
            }
            #expect(refusal?.code == .unavailable)
            #expect(refusal?.reason == "STORE_FULL")
            #expect(!kept.isEmpty)
            let engine = Engine(store: store as any EngineStore, verifier: TextVerifier())
            #expect(await engine.storeProblems() == ["store": "the store takes no changes: its disk is full"])
            func stored() async throws -> [String] {
                try await store.read { reader in
                    var ids: [String] = []
                    try reader.scan(StoreScan(), of: TestID.acme) { (id, _: Trip) in
                        ids.append(id)
                        return true
                    }
                    return ids
                }
            }
            #expect(try await stored().sorted() == kept.sorted())
            // Room is made, and nothing is restarted.
            try await limit(100_000)
            #expect(await engine.storeProblems() == [:])
            try await store.write { try $0.put(Trip(), TestID.id("after", TripID.self), of: TestID.acme) }
            #expect(try await stored().sorted() == (kept + ["after"]).sorted())
            try await store.close()
        }
    }

    @Test func `a store whose pages are damaged says so, and is told of every ten seconds at most`() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "engine.sqlite").path
            let former = try SQLiteStore(path: path)
            for number in 0..<100 {
                try await former.write { try $0.put(Vehicle.at(1, 2), TestID.id("veh-\(number)"), of: TestID.acme) }
            }
            try await former.close()
            let whole = try Data(contentsOf: URL(filePath: path))
            var damaged = whole
            for page in stride(from: 4096, to: whole.count, by: 4096) {
                damaged.replaceSubrange(page..<page + 64, with: Data(repeating: 0xA5, count: 64))
            }
            /// Writes over the file where it is, as a disk that fails does.
            func put(_ bytes: Data) throws {
                let file = try FileHandle(forWritingTo: URL(filePath: path))
                try file.write(contentsOf: bytes)
                try file.close()
            }

            let (log, clock) = (RecordedLog(), TestClock(TestClock.start))
            let store = try SQLiteStore(
                path: path, logger: log.logger, groupLimit: 1, waitingLimit: 10_000, now: { clock.now })
            let engine = Engine(store: store as any EngineStore, verifier: TextVerifier())
            #expect(await engine.storeProblems() == [:])
            try put(damaged)
            for number in 0..<100 {
                let id = TestID.id("veh-\(number)", VehicleID.self)
                let unread = await #expect(throws: EngineError.self) {
                    _ = try await store.read { try $0.vehicle(id, of: TestID.acme) }
                }
                let unchanged = await #expect(throws: EngineError.self) {
                    try await store.write { _ = try $0.vehicle(id, of: TestID.acme) }
                }
                for error in [unread, unchanged] {
                    #expect(error?.code == .unavailable && error?.reason == "STORE_DISK_FAILED")
                }
            }
            let told = ["The store could not be read", "A group of writes could not be committed"]
            #expect(log.messages(at: .error) == told)
            // However often it is asked.
            let problem = "the store cannot be read: its file is damaged"
            for _ in 0..<2 { #expect(await engine.storeProblems() == ["store": problem]) }
            try put(whole)
            #expect(await engine.storeProblems() == [:])
            try await store.close()
        }
    }

    @Test func `a store that stays full is told of every ten seconds at most`() async throws {
        try await withTemporaryFolder { folder in
            let (log, clock) = (RecordedLog(), TestClock(TestClock.start))
            let store = try SQLiteStore(
                path: folder.appending(path: "engine.sqlite").path, logger: log.logger, groupLimit: 1,
                waitingLimit: 10_000, now: { clock.now })
            try await store.pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = 1") }
            func fail(_ times: Int) async {
                for _ in 0..<times {
                    let error = await #expect(throws: EngineError.self) {
                        try await store.write {
                            try $0.put(
                                Trip.with { $0.name = String(repeating: "n", count: 100_000) }, TestID.trip,
                                of: TestID.acme)
                        }
                    }
                    #expect(error?.reason == "STORE_FULL")
                }
            }
            await fail(100)
            #expect(log.messages(at: .error) == ["A group of writes could not be committed"])
            clock.advance(by: 10)
            await fail(2)
            #expect(log.messages(at: .error).count == 2)
            try await store.close()
        }
    }

    // MARK: - Groups

    @Test(
        arguments: [
            (nil, "STORE_COMMIT_FAILED"), (.SQLITE_IOERR_READ, "STORE_DISK_FAILED"), (.SQLITE_FULL, "STORE_FULL"),
        ] as [(ResultCode?, String)])
    func `a transaction that ends from below fails its whole group and nothing else`(
        said: ResultCode?, reason: String
    ) async throws {
        try await self.withHeldStore { store, release in
            let before = store.waitingWrites
            async let first = self.outcome {
                try await store.write { try $0.put(Trip(), TestID.id("a"), of: TestID.acme) }
            }
            while store.waitingWrites < before + 1 { await Task.yield() }
            async let breaking = self.outcome {
                try await store.write { transaction in
                    let group = (transaction as? GroupedTransaction)?.group as? SQLiteGroup
                    try group?.database.execute(sql: "ROLLBACK")
                    if let said { throw DatabaseError(resultCode: said) }
                }
            }
            while store.waitingWrites < before + 2 { await Task.yield() }
            async let last = self.outcome {
                try await store.write { try $0.put(Trip(), TestID.id("b"), of: TestID.acme) }
            }
            while store.waitingWrites < before + 3 { await Task.yield() }
            release.signal()
            for outcome in await [first, breaking, last] {
                #expect((outcome as? EngineError)?.reason == reason)
            }
            let found = try await store.read { reader in
                [
                    try reader.trip(TestID.id("a"), of: TestID.acme), try reader.trip(TestID.id("b"), of: TestID.acme),
                ]
            }
            #expect(found == [nil, nil])
            // The next group is not harmed.
            try await store.write { try $0.put(Trip(), TestID.id("c"), of: TestID.acme) }
        }
    }

    @Test func `who looks through everything sees what the group kept so far`() async throws {
        try await self.withHeldStore { store, release in
            let before = store.waitingWrites
            struct Undone: Error {}
            let seen = Locked<[Int]>([])
            let bodies: [(puts: [String], looks: Bool, fails: Bool)] = [
                (["a"], false, false), ([], true, false), (["b", "lost"], true, true), (["c"], true, false),
                (["b"], true, false), (["d"], false, false),
            ]
            var writes: [Task<Void, any Error>] = []
            for (puts, looks, fails) in bodies {
                writes.append(
                    Task {
                        try await store.write { transaction in
                            for name in puts {
                                try transaction.put(Vehicle.at(1, 2, name: name), TestID.id(name), of: TestID.acme)
                            }
                            guard looks else { return }
                            let count = try transaction.count(.vehicles, of: TestID.acme)
                            seen.withLock { $0.append(count) }
                            if fails { throw Undone() }
                        }
                    })
                while store.waitingWrites < before + writes.count { await Task.yield() }
            }
            release.signal()
            for (write, body) in zip(writes, bodies) {
                let isKept = (try? await write.value) != nil
                #expect(isKept != body.fails)
            }
            #expect(seen.withLock { $0 } == [1, 3, 2, 3])
            let listed = try await store.read { try $0.listedVehicles(of: TestID.acme) }
            #expect(listed == ["a: a", "b: b", "c: c", "d: d"])
            let remembered = try await store.read { try $0.vehicle(TestID.id("lost"), of: TestID.acme) }
            #expect(remembered == nil)
        }
    }

    @Test func `a cancelled caller takes its waiting write back and hurts nobody`() async throws {
        try await self.withHeldStore { store, release in
            let cancelled = Task {
                try await store.write { try $0.put(Trip(), TestID.id("cancelled"), of: TestID.acme) }
            }
            while store.waitingWrites < 1 { await Task.yield() }
            let kept = Task { try await store.write { try $0.put(Trip(), TestID.id("kept"), of: TestID.acme) } }
            while store.waitingWrites < 2 { await Task.yield() }
            cancelled.cancel()
            // Answered while the writer is still held: nothing waits for the disk.
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            release.signal()
            try await kept.value
            let found = try await store.read { reader in
                (
                    try reader.trip(TestID.id("cancelled"), of: TestID.acme) != nil,
                    try reader.trip(TestID.id("kept"), of: TestID.acme) != nil
                )
            }
            #expect(found == (false, true))
        }
    }

    @Test func `a task that is cancelled already writes nothing`() async throws {
        try await self.withHeldStore { store, release in
            let task = Task {
                while !Task.isCancelled { await Task.yield() }
                try await store.write { try $0.put(Trip(), TestID.trip, of: TestID.acme) }
            }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            release.signal()
            let trip = try await store.read { try $0.trip(TestID.trip, of: TestID.acme) }
            #expect(trip == nil)
        }
    }

    @Test func `too many waiting writes are turned away`() async throws {
        try await self.withHeldStore(waitingLimit: 1) { store, release in
            let first = Task { try await store.write { try $0.put(Trip(), TestID.trip, of: TestID.acme) } }
            while store.waitingWrites < 1 { await Task.yield() }
            let error = await self.outcome { try await store.write { _ in } }
            #expect((error as? EngineError)?.reason == "STORE_OVERLOADED")
            #expect((error as? EngineError)?.code == .unavailable)
            release.signal()
            try await first.value
        }
    }

    @Test func `closing finishes what waits and refuses what comes after`() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "engine.sqlite").path
            try await self.withHeldStore(in: folder) { store, release in
                let waiting = Task { try await store.write { try $0.put(Trip(), TestID.trip, of: TestID.acme) } }
                while store.waitingWrites < 1 { await Task.yield() }
                let closing = Task { try await store.close() }
                release.signal()
                try await waiting.value
                try await closing.value
                let refusal = await self.outcome { try await store.write { _ in } }
                #expect((refusal as? EngineError)?.reason == "STORE_CLOSED")
            }
            let reopened = try SQLiteStore(path: path)
            let trip = try await reopened.read { try $0.trip(TestID.trip, of: TestID.acme) }
            #expect(trip != nil)
            try await reopened.close()
        }
    }

    /// Hands over a store whose writer is busy with one body until it is released.
    private func withHeldStore(
        waitingLimit: Int = 10_000, _ body: (SQLiteStore, _ release: DispatchSemaphore) async throws -> Void
    ) async throws {
        try await withTemporaryFolder { folder in
            try await self.withHeldStore(in: folder, waitingLimit: waitingLimit) { store, release in
                try await body(store, release)
                try await store.close()
            }
        }
    }

    private func withHeldStore(
        in folder: URL, waitingLimit: Int = 10_000,
        _ body: (SQLiteStore, _ release: DispatchSemaphore) async throws -> Void
    ) async throws {
        let store = try SQLiteStore(path: folder.appending(path: "engine.sqlite").path, waitingLimit: waitingLimit)
        let started = DispatchSemaphore(value: 0)
        let release = DispatchSemaphore(value: 0)
        let holding = Task {
            try await store.write { _ in
                started.signal()
                release.wait()
            }
        }
        while started.wait(timeout: .now()) == .timedOut { await Task.yield() }
        try await body(store, release)
        try await holding.value
    }

    private func outcome(_ body: () async throws -> Void) async -> (any Error)? {
        do {
            try await body()
            return nil
        } catch {
            return error
        }
    }
}

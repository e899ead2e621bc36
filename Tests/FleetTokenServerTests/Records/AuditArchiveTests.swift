// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import Logging
import Testing

@testable import FleetTokenServer

@Suite struct AuditArchiveTests {
    private static let hour: Double = 3600
    private static let archivist = AuditChange.Actor(localUser: "ops")

    /// A store whose records are of seconds 1 to 8, and what is moved 2 h after the sixth.
    private static func filled(_ kind: TokenStoreKind) async throws -> TemporaryStore {
        let world = try await TemporaryStore.make(kind)
        try FileManager.default.createDirectory(at: world.folder, withIntermediateDirectories: true)
        try await world.append(8)
        return world
    }

    private static func archive(
        _ world: TemporaryStore, to name: String, before second: Double
    ) async throws -> AuditSpan? {
        try await Self.archive(world.store, to: world.path(name), before: second)?.span
    }

    private static func archive(
        _ store: TokenServerStore, to path: String, before second: Double
    ) async throws -> ArchivedAudit? {
        try await Administration(store: store).archiveAudit(
            olderThan: .seconds(2 * Self.hour), to: path, by: Self.archivist,
            at: Date(timeIntervalSince1970: second + 2 * Self.hour))
    }

    /// A store with as many records of the first seconds, kept at once.
    private static func filled(_ kind: TokenStoreKind, with count: Int) async throws -> TemporaryStore {
        let world = try await TemporaryStore.make(kind)
        try FileManager.default.createDirectory(at: world.folder, withIntermediateDirectories: true)
        let records = try (1...count).map { try AuditRecord.granted(.server, at: Double($0) / 1000) }
        try await world.store.database.write { database in
            var head = try database.lockHead()
            var kept: [AuditEntry] = []
            for record in records {
                let entry = AuditEntry(.decision(record), after: head)
                kept.append(entry)
                head = AuditHead(entry)
            }
            try database.append(kept, head: head)
        }
        return world
    }

    /// Access to a store that does something before it reads there for the nth time.
    private static func store(
        _ world: TemporaryStore, beforeReading number: Int, _ body: @escaping @Sendable () async throws -> Void
    ) -> TokenServerStore {
        let reads = Locked(0)
        let watched = WatchedDatabase(
            world.store.database, beforeWriting: {},
            beforeReading: {
                let count = reads.withLock { count -> Int in
                    count += 1
                    return count
                }
                if count == number { try await body() }
            })
        return TokenServerStore(watched)
    }

    private static func sequences(_ store: TokenServerStore) async throws -> [Int64] {
        let found = Locked<[Int64]>([])
        try await AuditReader(store: store).search(AuditQuery()) { match in
            found.withLock { $0.append(match.entry.sequence) }
        }
        return found.withLock { $0 }
    }

    @Test(arguments: TokenStoreKind.available)
    func `old records are in the archive, the others in the store, and both hold`(kind: TokenStoreKind) async throws {
        let world = try await Self.filled(kind)
        let noted = try await world.reader.head()
        let moved = try #require(try await Self.archive(world, to: "one.sqlite", before: 6))
        #expect(moved.count == 5)
        let kept = try await world.reader.verify(anchor: noted)
        #expect(kept.start == moved.head && !kept.isArchive)
        #expect(try await Self.sequences(world.store) == [6, 7, 8, 9])

        let archive = try TokenServerStore(readingAt: world.path("one.sqlite"))
        #expect(try await AuditReader(store: archive).verify() == moved)
        #expect(try await Self.sequences(archive) == [1, 2, 3, 4, 5])
        let record = try await world.matches(AuditQuery()).last
        guard case .change(let change)? = record?.event else {
            Issue.record("The last record tells of no change.")
            return
        }
        #expect(change.action == .recordsArchived && change.actor == Self.archivist)
        #expect(change.details == ["count": "5", "head": "\(moved.head)", "file": "one.sqlite"])
    }

    @Test(arguments: TokenStoreKind.available)
    func `a record from the future moves with the old ones that follow it`(kind: TokenStoreKind) async throws {
        let world = try await TemporaryStore.make(kind)
        try FileManager.default.createDirectory(at: world.folder, withIntermediateDirectories: true)
        let log = StoredAuditLog(store: world.store, logger: Logger(label: "test"))
        // Looked at 2 h after the sixth second; clocks differ by up to a minute.
        let now = 6 + 2 * Self.hour
        for second in [1, 1_000_000, 2, now + 61, 3, now + 61, 1_000_000, 7, 4, now + 61] {
            try await log.append(try .granted(.server, at: second))
        }
        #expect(try await Self.archive(world, to: "one.sqlite", before: 6)?.head.sequence == 5)
        let archive = try TokenServerStore(readingAt: world.path("one.sqlite"))
        #expect(try await AuditReader(store: archive).verify().count == 5)
        #expect(try await world.reader.verify().start.sequence == 5)
        #expect(try await Self.archive(world, to: "none.sqlite", before: 6) == nil)
    }

    @Test(arguments: TokenStoreKind.available)
    func `a record that is ahead by no more than clocks differ stays, with all that follow it`(
        kind: TokenStoreKind
    ) async throws {
        let world = try await TemporaryStore.make(kind)
        try FileManager.default.createDirectory(at: world.folder, withIntermediateDirectories: true)
        let log = StoredAuditLog(store: world.store, logger: Logger(label: "test"))
        for second in [1, 6 + 2 * Self.hour + 60, 2] { try await log.append(try .granted(.server, at: second)) }
        #expect(try await Self.archive(world, to: "one.sqlite", before: 6)?.head.sequence == 1)
    }

    @Test(arguments: TokenStoreKind.available)
    func `the next archive starts where the last one ended, and the server writes on`(kind: TokenStoreKind) async throws
    {
        let world = try await Self.filled(kind)
        let first = try #require(try await Self.archive(world, to: "one.sqlite", before: 4))
        // Nothing more is that old.
        #expect(try await Self.archive(world, to: "none.sqlite", before: 4) == nil)
        #expect(!FileManager.default.fileExists(atPath: world.path("none.sqlite")))
        try await world.append(2)
        let second = try #require(try await Self.archive(world, to: "two.sqlite", before: 8))
        #expect(second.start == first.head)
        #expect(try await world.reader.verify().start == second.head)
        let archive = try TokenServerStore(readingAt: world.path("two.sqlite"))
        #expect(try await AuditReader(store: archive).verify(anchor: first.head) == second)
        #expect(try await Self.sequences(archive) == [4, 5, 6, 7])
    }

    @Test(arguments: TokenStoreKind.available)
    func `the start of an archive is vouched for by an anchor, or by a record of the move that it holds`(
        kind: TokenStoreKind
    ) async throws {
        let world = try await Self.filled(kind)
        let first = try #require(try await Self.archive(world, to: "one.sqlite", before: 4))
        let second = try #require(try await Self.archive(world, to: "two.sqlite", before: 7))
        let archive = AuditReader(store: try TokenServerStore(readingAt: world.path("two.sqlite")))
        for anchors in [[], [.origin], [second.head]] as [[AuditHead]] {
            let error = await #expect(throws: TokenServerError.self) { try await archive.verify(anchors: anchors) }
            #expect(error?.code == .recordsArchived)
            #expect(error?.message.contains("start after record 3") == true)
        }
        #expect(try await archive.verify(anchors: [first.head, second.head]) == second)
        let forged = AuditHead(sequence: second.head.sequence, hash: String(repeating: "a", count: 64))
        await #expect(throws: AuditFault.self) { try await archive.verify(anchors: [first.head, forged]) }

        // The record of the second move goes to the third archive, with all there is.
        let third = try #require(try await Self.archive(world, to: "three.sqlite", before: 1_000_000))
        #expect(third.start == second.head)
        let last = try TokenServerStore(readingAt: world.path("three.sqlite"))
        #expect(try await AuditReader(store: last).verify() == third)
    }

    @Test(arguments: TokenStoreKind.available)
    func `a store that is called an archive when its first records are gone does not pass`(
        kind: TokenStoreKind
    ) async throws {
        let world = try await Self.filled(kind)
        let noted = try await world.reader.head()
        try await world.tamper(
            "UPDATE audit_start SET sequence = 5, hash = (SELECT hash FROM audit_record WHERE sequence = 5), is_archive = 1;"
                + "DELETE FROM audit_record WHERE sequence <= 5")
        for anchors in [[], [noted]] as [[AuditHead]] {
            await #expect(throws: TokenServerError.self) { try await world.reader.verify(anchors: anchors) }
        }
    }

    @Test(arguments: TokenStoreKind.available)
    func `an anchor in an archive is told, and one that is another record is found`(kind: TokenStoreKind) async throws {
        let world = try await Self.filled(kind)
        let early = try #require(try await world.matches(AuditQuery()).first?.entry)
        let moved = try #require(try await Self.archive(world, to: "one.sqlite", before: 6))
        let error = await #expect(throws: TokenServerError.self) {
            try await world.reader.verify(anchor: AuditHead(early))
        }
        #expect(error?.code == .recordsArchived)
        #expect(error?.message.contains("is in an archive, as the records up to 5 are") == true)
        try await world.reader.verify(anchor: moved.head)
        try await world.reader.verify(anchor: .origin)
        let forged = AuditHead(sequence: moved.head.sequence, hash: String(repeating: "a", count: 64))
        let rewritten = await #expect(throws: AuditFault.self) { try await world.reader.verify(anchor: forged) }
        #expect(rewritten?.message.contains("the chain was rewritten") == true)
    }

    @Test(arguments: TokenStoreKind.available)
    func `a chain that does not hold is not moved`(kind: TokenStoreKind) async throws {
        let world = try await Self.filled(kind)
        try await world.tamper(
            "DROP TRIGGER audit_record_is_final;"
                + "UPDATE audit_record SET content = replace(content, 'veh-2', 'veh-9') WHERE sequence = 2")
        await #expect(throws: AuditFault.self) { try await Self.archive(world, to: "one.sqlite", before: 6) }
        let names = try FileManager.default.contentsOfDirectory(atPath: world.folder.path(percentEncoded: false))
        #expect(names.allSatisfy { !$0.hasPrefix("one") })
        #expect(try await Self.sequences(world.store).count == 8)
    }

    @Test(arguments: TokenStoreKind.available)
    func `what a run that was cut short left behind is removed by the next`(kind: TokenStoreKind) async throws {
        let world = try await Self.filled(kind)
        // A record tells of the move, and the records are there still.
        let moved = AuditHead(try #require(try await world.matches(AuditQuery()).dropFirst(3).first?.entry))
        try await Administration(store: world.store).change { database in
            try database.execute(
                "UPDATE audit_start SET sequence = ?, hash = ?", [.integer(moved.sequence), .text(moved.hash)])
            let details = ["count": "4", "head": "\(moved)", "file": "one.sqlite"]
            return ((), AuditChange(.recordsArchived, details, by: Self.archivist, at: Date(timeIntervalSince1970: 9)))
        }
        try await world.reader.verify()
        #expect(try await Self.sequences(world.store) == [5, 6, 7, 8, 9])
        #expect(try await world.reader.firstTime() == Date(timeIntervalSince1970: 5))
        #expect(try await Self.archive(world, to: "two.sqlite", before: 1) == nil)
        #expect(try await world.reader.firstTime() == Date(timeIntervalSince1970: 5))
    }

    @Test(arguments: TokenStoreKind.available)
    func `of two archives of the same records one is the archive`(kind: TokenStoreKind) async throws {
        let world = try await Self.filled(kind)
        let moved = try #require(try await Self.archive(world, to: "one.sqlite", before: 6))
        let head = try await world.reader.head()
        let isFirst = try await Administration(store: world.store).release(
            moved, to: world.path("two.sqlite"), by: Self.archivist, at: Date(timeIntervalSince1970: 9))
        #expect(!isFirst)
        #expect(try await world.reader.verify().start == moved.head)
        #expect(try await world.reader.head() == head)
    }

    @Test func `no record of a token that may live is moved, however young those to move may be`() async throws {
        let world = try await Self.filled(.sqlite)
        let moved = try await Administration(store: world.store).archiveAudit(
            olderThan: .zero, to: world.path("one.sqlite"), by: Self.archivist,
            at: Date(timeIntervalSince1970: 6 + 2 * Self.hour))
        #expect(moved?.span.count == 5)
        #expect(try await Self.sequences(world.store) == [6, 7, 8, 9])
    }

    @Test func `an archive that another overtook at the last moment is taken back`() async throws {
        let world = try await Self.filled(.sqlite)
        let (store, rival, writes) = (world.store, world.path("rival.sqlite"), Locked(0))
        let late = WatchedDatabase(
            store.database,
            beforeWriting: {
                let count = writes.withLock { count -> Int in
                    count += 1
                    return count
                }
                // The first removes what an earlier run left, the second moves the start of the store's records.
                if count == 2 { _ = try await Self.archive(store, to: rival, before: 6) }
            })
        let error = await #expect(throws: TokenServerError.self) {
            try await Self.archive(TokenServerStore(late), to: world.path("one.sqlite"), before: 6)
        }
        #expect(error?.message.contains("Another archive of the same records") == true)
        #expect(try world.files(with: "one") == [])
        #expect(try await Self.sequences(TokenServerStore(readingAt: rival)) == [1, 2, 3, 4, 5])
        #expect(try await Self.sequences(world.store) == [6, 7, 8, 9])
    }

    @Test func `a file that exists is left alone, and an archive is opened for its records alone`() async throws {
        let world = try await Self.filled(.sqlite)
        try Data("kept".utf8).write(to: world.folder.appending(path: "one.sqlite"))
        let error = await #expect(throws: TokenServerError.self) {
            try await Self.archive(world, to: "one.sqlite", before: 6)
        }
        #expect(error?.message.contains("exists; name a new file") == true)
        #expect(try Data(contentsOf: world.folder.appending(path: "one.sqlite")) == Data("kept".utf8))

        _ = try await Self.archive(world, to: "two.sqlite", before: 6)
        let path = world.path("two.sqlite")
        let ways: [(String) throws -> TokenServerStore] = [
            { try TokenServerStore(openingAt: $0) }, { try TokenServerStore(listingAt: $0) },
        ]
        for open in ways {
            let refusal = #expect(throws: TokenServerError.self) { _ = try open(path) }
            #expect(refusal?.message.contains("is an archive of the audit, which is only read") == true)
        }
    }

    @Test func `many records are moved in portions`() async throws {
        let world = try await Self.filled(.sqlite, with: 9000)
        let moved = try #require(try await Self.archive(world, to: "one.sqlite", before: 100))
        #expect(moved.count == 9000)
        #expect(try await Self.sequences(world.store) == [9001])
        try await world.reader.verify()
        #expect(try await AuditReader(store: TokenServerStore(readingAt: world.path("one.sqlite"))).verify() == moved)
    }

    @Test func `archives made at once to one file lose no record`() async throws {
        for _ in 1...20 {
            let world = try await Self.filled(.sqlite)
            let path = world.path("one.sqlite")
            let stores = try [world.store, world.another(), world.another()]
            let outcomes = await withTaskGroup(
                of: Result<Int64, any Error>.self, returning: [Result<Int64, any Error>].self
            ) { group in
                for store in stores {
                    group.addTask {
                        do {
                            return .success(try await Self.archive(store, to: path, before: 6)?.span.count ?? 0)
                        } catch {
                            return .failure(error)
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            var counts: [Int64] = []
            for outcome in outcomes {
                switch outcome {
                case .success(let count): counts.append(count)
                case .failure(let error): #expect(error is TokenServerError, "\(error)")
                }
            }
            #expect(counts.reduce(0, +) == 5)
            let archive = try TokenServerStore(readingAt: path)
            #expect(try await Self.sequences(archive) == [1, 2, 3, 4, 5])
            #expect(try await Self.sequences(world.store) == [6, 7, 8, 9])
            try await world.reader.verify()
            #expect(try world.files(with: ".unfinished") == [])
        }
    }

    @Test func `a run waits for nobody, and what a killed one left is removed by the next`() async throws {
        let world = try await Self.filled(.sqlite)
        let draft = try AuditArchiveDraft(of: world.path("one.sqlite"))
        let error = await #expect(throws: TokenServerError.self) {
            try await Self.archive(world, to: "one.sqlite", before: 6)
        }
        #expect(error?.message.contains("another run writes it") == true)
        #expect(FileManager.default.fileExists(atPath: draft.path))
        // Its lock ends without the files being removed, as with a process that is killed.
        _ = try AuditArchiveDraft(of: world.path("killed.sqlite"))
        #expect(try world.files(with: "killed").count == 2)
        draft.remove()
        // What is in a lock that another left says nothing.
        try Data(count: 100).write(to: URL(filePath: world.path("one.sqlite.unfinished-lock")))
        #expect(try await Self.archive(world, to: "one.sqlite", before: 6)?.count == 5)
        #expect(try world.files(with: "killed") == [])
        #expect(try world.files(with: "one") == ["one.sqlite"])
        let mode = try FileManager.default.attributesOfItem(atPath: world.path("one.sqlite"))[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func `records stay where the file is removed or its name is taken while it is written`() async throws {
        let world = try await Self.filled(.sqlite)
        let path = world.path("one.sqlite")
        // The first look is for which records, the second reads them.
        let removing = Self.store(world, beforeReading: 2) {
            try FileManager.default.removeItem(atPath: path + ".unfinished")
        }
        await #expect(throws: (any Error).self) { try await Self.archive(removing, to: path, before: 6) }
        #expect(try world.files(with: "one") == [])

        let placing = Self.store(world, beforeReading: 2) { try Data("kept".utf8).write(to: URL(filePath: path)) }
        let error = await #expect(throws: TokenServerError.self) {
            try await Self.archive(placing, to: path, before: 6)
        }
        #expect(error?.message.contains("exists; name a new file") == true)
        #expect(try Data(contentsOf: URL(filePath: path)) == Data("kept".utf8))
        #expect(try world.files(with: "one") == ["one.sqlite"])
        #expect(try await Self.sequences(world.store).count == 8)
        try await world.reader.verify()
    }

    @Test func `a file that was placed is taken back, and none that stands in its place`() throws {
        let world = try TemporaryStore()
        let path = world.path("one.sqlite")
        let draft = try AuditArchiveDraft(of: path)
        try draft.place()
        #expect(try world.files(with: "one").count == 3)
        #expect(FileManager.default.fileExists(atPath: path))
        draft.takeBack()
        #expect(!FileManager.default.fileExists(atPath: path))
        try Data("kept".utf8).write(to: URL(filePath: path))
        draft.takeBack()
        #expect(FileManager.default.fileExists(atPath: path))
        draft.remove()
        #expect(try world.files(with: "one") == ["one.sqlite"])
        // A link that leads nowhere is a name that is taken.
        try FileManager.default.createSymbolicLink(atPath: world.path("link.sqlite"), withDestinationPath: "nowhere")
        let error = #expect(throws: TokenServerError.self) { try AuditArchiveDraft(of: world.path("link.sqlite")) }
        #expect(error?.message.contains("exists; name a new file") == true)
        #expect(try world.files(with: "link") == ["link.sqlite"])
    }

    @Test(arguments: TokenStoreKind.available)
    func `an archive made beside another says so, and not that records are missing`(
        kind: TokenStoreKind
    ) async throws {
        let world = try await Self.filled(kind, with: 9000)
        let store = world.store
        let rival = world.path("rival.sqlite")
        let second = Self.store(world, beforeReading: 3) { _ = try await Self.archive(store, to: rival, before: 100) }
        let error = await #expect(throws: TokenServerError.self) {
            try await Self.archive(second, to: world.path("one.sqlite"), before: 100)
        }
        #expect(error?.code == .storeUnavailable)
        #expect(error?.message.contains("Another archive of the same records") == true)
        #expect(try world.files(with: "one") == [])
        #expect(try await AuditReader(store: TokenServerStore(readingAt: rival)).verify().count == 9000)
        #expect(try await world.reader.verify().start.sequence == 9000)
    }

    @Test(arguments: TokenStoreKind.available)
    func `a search that an archive overtakes leaves nothing out in silence`(kind: TokenStoreKind) async throws {
        let world = try await Self.filled(kind, with: 900)
        let store = world.store
        let path = world.path("one.sqlite")
        let read = Self.store(world, beforeReading: 3) { _ = try await Self.archive(store, to: path, before: 100) }
        let error = await #expect(throws: TokenServerError.self) { _ = try await Self.sequences(read) }
        #expect(error?.code == .recordsArchived)
        #expect(error?.message.contains("The records up to 900 were moved to an archive meanwhile") == true)
    }

    @Test(arguments: TokenStoreKind.available)
    func `a search leaves nothing out in silence that was there when its caller looked`(
        kind: TokenStoreKind
    ) async throws {
        let world = try await Self.filled(kind)
        let start = try await world.reader.span().start
        _ = try await Self.archive(world, to: "one.sqlite", before: 6)
        let error = await #expect(throws: TokenServerError.self) {
            try await world.reader.search(AuditQuery(), after: start) { _ in }
        }
        #expect(error?.code == .recordsArchived)
        let later = try await world.reader.span().start
        try await world.reader.search(AuditQuery(), after: later) { _ in }
    }

    @Test func `records that cannot be removed are moved all the same, and removed by the next run`() async throws {
        let world = try await Self.filled(.sqlite)
        try await world.tamper(
            "CREATE TRIGGER stuck BEFORE DELETE ON audit_record BEGIN SELECT RAISE(ABORT, 'stuck'); END")
        let moved = try #require(try await Self.archive(world.store, to: world.path("one.sqlite"), before: 6))
        #expect(moved.removalFailure.map { "\($0)" }?.contains("stuck") == true)
        #expect(try await world.reader.verify().start == moved.span.head)
        let archive = try TokenServerStore(readingAt: world.path("one.sqlite"))
        #expect(try await AuditReader(store: archive).verify() == moved.span)
        #expect(try await world.reader.firstTime() == Date(timeIntervalSince1970: 6))
        try await world.tamper("DROP TRIGGER stuck")
        #expect(try await Self.archive(world, to: "two.sqlite", before: 6) == nil)
        let first = Locked<Int64?>(nil)
        try await world.store.database.read { database in
            try database.rows("SELECT min(sequence) FROM audit_record", []) { row in
                let sequence = try row.integer(0)
                first.withLock { $0 = sequence }
                return false
            }
        }
        #expect(first.withLock { $0 } == 6)
    }

    @Test func `an archive that may be the one is kept, and said so`() async throws {
        let world = try await Self.filled(.sqlite)
        try await world.tamper(
            "CREATE TRIGGER stuck BEFORE INSERT ON audit_record BEGIN SELECT RAISE(ABORT, 'stuck'); END")
        let error = await #expect(throws: TokenServerError.self) {
            try await Self.archive(world, to: "one.sqlite", before: 6)
        }
        #expect(error?.message.contains("Keep the file") == true)
        #expect(try await Self.sequences(TokenServerStore(readingAt: world.path("one.sqlite"))) == [1, 2, 3, 4, 5])
        #expect(try await Self.sequences(world.store).count == 8)
        #expect(try world.files(with: "one") == ["one.sqlite"])
    }
}

extension TemporaryStore {
    /// The files of the folder whose names hold a text, in order.
    fileprivate func files(with text: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: self.folder.path(percentEncoded: false))
            .filter { $0.contains(text) }.sorted()
    }

    fileprivate func path(_ name: String) -> String { self.folder.appending(path: name).path(percentEncoded: false) }
}

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
        try await Administration(store: world.store).archiveAudit(
            olderThan: .seconds(2 * Self.hour), to: world.path(name), by: Self.archivist,
            at: Date(timeIntervalSince1970: second + 2 * Self.hour))
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
    func `an anchor in an archive is told, and one that is another record is found`(kind: TokenStoreKind) async throws {
        let world = try await Self.filled(kind)
        let early = try #require(try await world.matches(AuditQuery()).first?.entry)
        let moved = try #require(try await Self.archive(world, to: "one.sqlite", before: 6))
        let fault = await #expect(throws: AuditFault.self) {
            try await world.reader.verify(anchor: AuditHead(early))
        }
        #expect(fault?.message.contains("is in an archive, as the records up to 5 are") == true)
        try await world.reader.verify(anchor: moved.head)
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
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: world.folder.path()).allSatisfy { !$0.hasPrefix("one") }
        )
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

    @Test func `a file that exists is left alone, and an archive is opened to be read alone`() async throws {
        let world = try await Self.filled(.sqlite)
        try Data("kept".utf8).write(to: world.folder.appending(path: "one.sqlite"))
        let error = await #expect(throws: TokenServerError.self) {
            try await Self.archive(world, to: "one.sqlite", before: 6)
        }
        #expect(error?.message.contains("exists; name a new file") == true)
        #expect(try Data(contentsOf: world.folder.appending(path: "one.sqlite")) == Data("kept".utf8))

        _ = try await Self.archive(world, to: "two.sqlite", before: 6)
        let path = world.path("two.sqlite")
        let refusal = #expect(throws: TokenServerError.self) { _ = try TokenServerStore(openingAt: path) }
        #expect(refusal?.message.contains("is an archive of the audit, which is only read") == true)
    }

    @Test func `many records are moved in portions`() async throws {
        let world = try TemporaryStore()
        let entries = try (1...9000).map { number in
            try AuditRecord.granted(.server, at: Double(number) / 1000)
        }
        try await world.store.database.write { database in
            var head = try database.lockHead()
            var kept: [AuditEntry] = []
            for record in entries {
                let entry = AuditEntry(.decision(record), after: head)
                kept.append(entry)
                head = AuditHead(entry)
            }
            try database.append(kept, head: head)
        }
        let moved = try #require(try await Self.archive(world, to: "one.sqlite", before: 100))
        #expect(moved.count == 9000)
        #expect(try await Self.sequences(world.store) == [9001])
        try await world.reader.verify()
        #expect(try await AuditReader(store: TokenServerStore(readingAt: world.path("one.sqlite"))).verify() == moved)
    }
}

extension TemporaryStore {
    fileprivate func path(_ name: String) -> String { self.folder.appending(path: name).path(percentEncoded: false) }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenServer
import FleetTokens
import Foundation
import Logging
import PostgreSQLTestSupport
import Testing

@Suite struct AuditChainTests {
    private static let final = "DROP TRIGGER audit_record_is_final;"
    private static let stays = "DROP TRIGGER audit_record_stays;"

    /// What somebody may do to the file behind the server's back, and the first record that gives it away.
    static let attacks: [(sql: String, sequence: Int64)] = [
        (final + "UPDATE audit_record SET content = replace(content, 'veh-4', 'veh-9') WHERE sequence = 4", 4),
        (
            final
                + #"UPDATE audit_record SET content = replace(content, '"address":"192.0.2.7",', '') WHERE sequence = 1"#,
            1
        ),
        (final + "UPDATE audit_record SET hash = '\(String(repeating: "a", count: 64))' WHERE sequence = 7", 7),
        (stays + "DELETE FROM audit_record WHERE sequence = 1", 1),
        (stays + "DELETE FROM audit_record WHERE sequence = 5", 5),
        (stays + "DELETE FROM audit_record WHERE sequence = 8", 8),
        (stays + "DELETE FROM audit_record WHERE sequence > 3", 4),
        (stays + "DELETE FROM audit_record", 1),
        (
            stays + final + "DELETE FROM audit_record WHERE sequence = 5;"
                + "UPDATE audit_record SET sequence = sequence - 1 WHERE sequence > 5", 5
        ),
        (
            final + "UPDATE audit_record SET sequence = 99 WHERE sequence = 2;"
                + "UPDATE audit_record SET sequence = 2 WHERE sequence = 3;"
                + "UPDATE audit_record SET sequence = 3 WHERE sequence = 99", 2
        ),
        ("INSERT INTO audit_record (sequence, content, hash) SELECT 9, content, hash FROM audit_record LIMIT 1", 9),
        ("UPDATE audit_head SET sequence = 3", 4),
        // As an archive does it, but for the record that tells of it.
        (
            "UPDATE audit_start SET sequence = 3, hash = (SELECT hash FROM audit_record WHERE sequence = 3);"
                + "DELETE FROM audit_record WHERE sequence <= 3", 1
        ),
        ("UPDATE audit_start SET sequence = 3", 4),
    ]

    @Test(arguments: TokenStoreKind.available, attacks)
    func `any record that is changed, removed or moved is found`(
        kind: TokenStoreKind, attack: (sql: String, sequence: Int64)
    ) async throws {
        let world = try await TemporaryStore.make(kind)
        try await world.append(8)
        #expect(try await world.reader.verify().head.sequence == 8)
        try await world.tamper(attack.sql)
        let fault = await #expect(throws: AuditFault.self) { try await world.reader.verify() }
        #expect(fault?.sequence == attack.sequence)
    }

    @Test(arguments: TokenStoreKind.available)
    func `a chain that was cut and given a new head is missed by its anchor`(kind: TokenStoreKind) async throws {
        let world = try await TemporaryStore.make(kind)
        try await world.append(8)
        let anchor = try await world.reader.head()
        #expect(try await world.reader.verify(anchor: anchor).head == anchor)
        try await world.tamper(
            Self.stays + "DELETE FROM audit_record WHERE sequence > 5;"
                + "UPDATE audit_head SET sequence = 5, hash = (SELECT hash FROM audit_record WHERE sequence = 5)")
        #expect(try await world.reader.verify().head.sequence == 5)
        await #expect(throws: AuditFault.self) { try await world.reader.verify(anchor: anchor) }
        // Writing on does not hide it.
        try await world.append(4)
        let fault = await #expect(throws: AuditFault.self) { try await world.reader.verify(anchor: anchor) }
        #expect(fault?.sequence == 8)
    }

    @Test(arguments: TokenStoreKind.available)
    func `records cannot be changed or removed by mistake`(kind: TokenStoreKind) async throws {
        let world = try await TemporaryStore.make(kind)
        try await world.append(2)
        for sql in ["DELETE FROM audit_record", "UPDATE audit_record SET content = '{}'"] {
            await #expect(throws: (any Error).self) { try await world.tamper(sql) }
        }
        #expect(try await world.reader.verify().head.sequence == 2)
    }

    @Test(arguments: TokenStoreKind.available)
    func `records of many callers at once make one chain`(kind: TokenStoreKind) async throws {
        let world = try await TemporaryStore.make(kind)
        // Each as on a node of its own.
        let logs = try [0, 1].map { _ in StoredAuditLog(store: try world.another(), logger: Logger(label: "test")) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<400 {
                group.addTask { try await logs[number % 2].append(.granted(.server, at: Double(number))) }
            }
            try await group.waitForAll()
        }
        #expect(try await world.reader.verify().head.sequence == 400)
    }

    @Test(arguments: TokenStoreKind.available)
    func `a record that cannot be kept is an error`(kind: TokenStoreKind) async throws {
        let world = try await TemporaryStore.make(kind)
        let log = StoredAuditLog(store: world.store, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await world.tamper("DROP TABLE audit_head")
        let error = await #expect(throws: TokenServerError.self) { try await log.append(.granted(.server, at: 1)) }
        #expect(error?.code == .storeUnavailable)
        let full = StoredAuditLog(store: world.store, logger: Logger(label: "test"), waitingLimit: 0)
        await #expect(throws: TokenServerError.self) { try await full.append(.granted(.server, at: 1)) }
    }

    @Test(.enabled(if: PostgreSQLServer.isInstalled, Comment(rawValue: PostgreSQLServer.absence)))
    func `what PostgreSQL searches by cannot be changed apart from the record`() async throws {
        for change in ["time_ms = 0", "fingerprint = NULL", "fingerprint = 'another'"] {
            let world = try await TemporaryStore.make(.postgreSQL)
            try await world.append(4)
            try await world.tamper(Self.final + "UPDATE audit_record SET \(change) WHERE sequence = 3")
            let fault = await #expect(throws: AuditFault.self) { try await world.reader.verify() }
            #expect(fault?.sequence == 3)
        }
    }

    @Test func `an exported line can be hashed by anyone`() async throws {
        let world = try TemporaryStore()
        try await world.append(2)
        let lines = try await world.matches(AuditQuery()).map(\.entry.jsonLine)
        let objects = try lines.map { try JSONValue(parsing: $0.utf8).object ?? [:] }
        let second = try #require(objects.last)
        let first = try #require(objects.first?["hash"]?.string)
        let record = String(decoding: try #require(second["record"]).serialized, as: UTF8.self)
        let hash = "fleetpass-audit-1\n\(first)\n2\n\(record)".utf8.sha256Hex
        #expect(second["hash"]?.string == hash)
    }

    @Test(arguments: ["", "1", "x:y", "-1:\(String(repeating: "0", count: 64))", "1:abc", "1:2:3"])
    func `an anchor that is none is refused`(text: String) {
        #expect(AuditHead(text) == nil)
    }
}

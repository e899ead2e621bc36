// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation
import Logging
import Testing

@testable import FleetTokenServer

/// Changes by administrators in the chain that the decisions are in.
@Suite struct AdministrationTests {
    private static let now = Date(timeIntervalSince1970: 1_767_225_600)
    private static let actor = AuditChange.Actor(Caller(name: "ops", issuer: "admin"), address: "192.0.2.9")
    private static let driver = CallerID(issuer: "login", subject: "driver-7")

    /// One decision, then one change of every kind.
    private static func world(_ kind: TokenStoreKind) async throws -> TemporaryStore {
        let world = try await TemporaryStore.make(kind)
        try await world.append(1)
        let administration = Administration(store: world.store)
        let vehicle = AssignedResource.vehicle(try VehicleID(checking: "veh-3"))
        try await administration.add(
            Assignment(holder: Self.driver, resource: vehicle, start: Self.now, end: Self.now + 60), by: Self.actor,
            at: Self.now)
        try await administration.end(vehicle, of: Self.driver, at: Self.now + 30, by: Self.actor, now: Self.now + 1)
        try await administration.revoke(.fingerprint("00ff00ff00ff00ff"), by: Self.actor, at: Self.now + 2)
        let local = AuditChange.Actor(localUser: "root")
        try await administration.recordRotation(to: "key-2", of: .driver, by: local, at: Self.now + 3)
        try await administration.recordRetirement(of: "key-1", of: .driver, isForced: true, by: local, at: Self.now + 4)
        return world
    }

    private static func actions(
        in world: TemporaryStore, _ narrow: (inout AuditQuery) throws -> Void
    ) async throws -> [AuditChange.Action] {
        var query = AuditQuery()
        query.kind = .change
        try narrow(&query)
        return try await world.matches(query).compactMap { match in
            guard case .change(let change) = match.event else { return nil }
            return change.action
        }
    }

    @Test(arguments: TokenStoreKind.available)
    func `decisions and changes make one chain`(kind: TokenStoreKind) async throws {
        let world = try await Self.world(kind)
        #expect(try await world.reader.verify().head.sequence == 6)
        #expect(try await world.matches(AuditQuery()).map(\.entry.sequence) == [1, 2, 3, 4, 5, 6])
        #expect(
            try await world.matches(AuditQuery()).map(\.event.kind) == [.decision] + Array(repeating: .change, count: 5)
        )
    }

    @Test(
        arguments: TokenStoreKind.available,
        [
            ("'veh-3'", "'veh-4'", 2), ("'ops'", "'opa'", 3), ("00ff00ff00ff00ff", "11ff00ff00ff00ff", 4),
            ("'true'", "'false'", 6),
        ] as [(String, String, Int64)])
    func `a change that was changed is found`(
        kind: TokenStoreKind, attack: (old: String, new: String, sequence: Int64)
    ) async throws {
        let world = try await Self.world(kind)
        let (old, new) = (attack.old.replacing("'", with: ""), attack.new.replacing("'", with: ""))
        try await world.tamper(
            "DROP TRIGGER audit_record_is_final;"
                + "UPDATE audit_record SET content = replace(content, '\(old)', '\(new)') WHERE sequence = \(attack.sequence)"
        )
        let fault = await #expect(throws: AuditFault.self) { try await world.reader.verify() }
        #expect(fault?.sequence == attack.sequence)
    }

    @Test(arguments: TokenStoreKind.available)
    func `changes are found by who made them, whom and what they are about, and when`(kind: TokenStoreKind) async throws
    {
        let world = try await Self.world(kind)
        #expect(try await Self.actions(in: world) { $0.caller = "root" } == [.keyRotated, .keyRetired])
        #expect(try await Self.actions(in: world) { $0.subject = "driver-7" } == [.assignmentAdded, .assignmentEnded])
        #expect(
            try await Self.actions(in: world) { $0.subject = "ops" }
                == [.assignmentAdded, .assignmentEnded, .tokensWithdrawn])
        #expect(
            try await Self.actions(in: world) { $0.resource = .vehicle(try VehicleID(checking: "veh-3")) }
                == [.assignmentAdded, .assignmentEnded])
        #expect(try await Self.actions(in: world) { $0.resource = .trip(try TripID(checking: "veh-3")) }.isEmpty)
        #expect(try await Self.actions(in: world) { $0.fingerprint = "00ff00ff00ff00ff" } == [.tokensWithdrawn])
        #expect(
            try await Self.actions(in: world) { query in
                query.from = Self.now + 1
                query.until = Self.now + 3
            } == [.assignmentEnded, .tokensWithdrawn])
        // Questions about tokens alone.
        #expect(try await Self.actions(in: world) { $0.time = Self.now + 5 }.isEmpty)
        #expect(try await Self.actions(in: world) { $0.decision = .granted }.isEmpty)
    }

    @Test(arguments: TokenStoreKind.available)
    func `a change and its record are one`(kind: TokenStoreKind) async throws {
        let world = try await TemporaryStore.make(kind)
        let trip = Assignment(
            holder: Self.driver, resource: .trip(try TripID(checking: "trip-7")), start: Self.now)
        try await world.tamper("ALTER TABLE audit_record RENAME TO audit_elsewhere")
        let administration = Administration(store: world.store)
        await #expect(throws: (any Error).self) { try await administration.add(trip, by: Self.actor, at: Self.now) }
        await #expect(throws: (any Error).self) {
            try await administration.revoke(.key("key-1"), by: Self.actor, at: Self.now)
        }
        let store = StoredAssignments(store: world.store)
        #expect(try await store.assignments(of: nil, to: nil, at: nil, limit: 10).isEmpty)
        #expect(try await RevocationStore(store: world.store).current(at: Self.now).isEmpty)
    }

    @Test(arguments: TokenStoreKind.available)
    func `what changes nothing leaves no record, a withdrawal always does`(kind: TokenStoreKind) async throws {
        let world = try await TemporaryStore.make(kind)
        let administration = Administration(store: world.store)
        let vehicle = AssignedResource.vehicle(try VehicleID(checking: "veh-3"))
        let assignment = Assignment(holder: Self.driver, resource: vehicle, start: Self.now)
        #expect(
            try await administration.end(vehicle, of: Self.driver, at: Self.now, by: Self.actor, now: Self.now) == 0)
        for isNew in [true, false] {
            let added = try await administration.add(assignment, by: Self.actor, at: Self.now)
            #expect(added.assignment.start == Self.now && added.isNew == isNew)
        }
        try await administration.revoke(.subject("nobody"), by: Self.actor, at: Self.now)
        #expect(try await Self.actions(in: world) { _ in } == [.assignmentAdded, .tokensWithdrawn])
    }

    @Test(arguments: TokenStoreKind.available)
    func `one that began earlier may count as one that begins now, where neither has an end`(
        kind: TokenStoreKind
    ) async throws {
        let world = try await TemporaryStore.make(kind)
        let administration = Administration(store: world.store)
        let vehicle = AssignedResource.vehicle(try VehicleID(checking: "veh-3"))
        func add(_ start: TimeInterval, end: Date? = nil, to holder: CallerID = Self.driver) async throws {
            let wanted = Assignment(holder: holder, resource: vehicle, start: Self.now + start, end: end)
            let added = try await administration.add(wanted, unlessBegun: true, by: Self.actor, at: Self.now)
            #expect(added.isNew && added.assignment.start == wanted.start && added.assignment.end == end)
        }
        func starts() async throws -> [TimeInterval] {
            try await StoredAssignments(store: world.store).assignments(of: nil, to: nil, at: nil, limit: 10)
                .map { $0.start.timeIntervalSince(Self.now) }
        }
        try await add(1)
        let again = Assignment(holder: Self.driver, resource: vehicle, start: Self.now + 2)
        let begun = try await administration.add(again, unlessBegun: true, by: Self.actor, at: Self.now)
        #expect(!begun.isNew && begun.assignment.start == Self.now + 1)
        #expect(try await starts() == [1])
        // What begins later, has an end, or is another's does not.
        try await add(0)
        try await add(3, end: Self.now + 10)
        try await add(4, to: CallerID(issuer: "login", subject: "driver-8"))
        #expect(try await starts() == [0, 1, 3, 4])
        try await administration.end(vehicle, of: Self.driver, at: Self.now + 5, by: Self.actor, now: Self.now + 5)
        try await add(6)
        #expect(try await starts() == [0, 1, 3, 4, 6])
        #expect(try await Self.actions(in: world) { _ in }.count == 6)
    }

    @Test(arguments: TokenStoreKind.available)
    func `one of several assignments is ended by when it begins`(kind: TokenStoreKind) async throws {
        let world = try await TemporaryStore.make(kind)
        let administration = Administration(store: world.store)
        let store = StoredAssignments(store: world.store)
        let vehicle = AssignedResource.vehicle(try VehicleID(checking: "veh-3"))
        let (past, soon, later) = (Self.now - 60.25, Self.now + 60, Self.now + 120.5)
        for start in [past, soon, later] {
            try await administration.add(
                Assignment(holder: Self.driver, resource: vehicle, start: start), by: Self.actor, at: Self.now)
        }
        func end(beginning start: Date) async throws -> Int {
            try await administration.end(
                vehicle, of: Self.driver, beginning: start, at: Self.now, by: Self.actor, now: Self.now)
        }
        func times() async throws -> [[Date?]] {
            try await store.assignments(of: nil, to: nil, at: nil, limit: 10).map { [$0.start, $0.end] }
        }
        #expect(try await end(beginning: soon) == 1)
        #expect(try await times() == [[past, nil], [later, nil]])
        // A list tells whole seconds.
        #expect(try await end(beginning: Self.now - 61) == 1)
        #expect(try await times() == [[past, Self.now], [later, nil]])
        #expect(try await end(beginning: Self.now - 61) == 0)
        #expect(try await end(beginning: Self.now + 119) == 0)
        #expect(try await end(beginning: Self.now + 120) == 1)
        #expect(try await times() == [[past, Self.now]])
    }

    @Test(arguments: TokenStoreKind.available, [0.9996, 0.9994, 0.1234])
    func `an assignment is answered and recorded with the times by which it is kept, listed and ended`(
        kind: TokenStoreKind, fraction: Double
    ) async throws {
        let world = try await TemporaryStore.make(kind)
        let administration = Administration(store: world.store)
        let vehicle = AssignedResource.vehicle(try VehicleID(checking: "veh-3"))
        let wanted = Assignment(
            holder: Self.driver, resource: vehicle, start: Self.now + fraction, end: Self.now + 60 + fraction)
        let told = try await administration.add(wanted, by: Self.actor, at: Self.now).assignment
        let listed = try await StoredAssignments(store: world.store).assignments(of: nil, to: nil, at: nil, limit: 10)
        #expect(listed == [told])
        let start = try #require(APITime.date(APITime.text(told.start)))
        let ended = try await administration.end(
            vehicle, of: Self.driver, beginning: start, at: Self.now + 30 + fraction, by: Self.actor, now: Self.now)
        #expect(ended == 1)
        let last = try await StoredAssignments(store: world.store).assignments(of: nil, to: nil, at: nil, limit: 10)
        let details = try await world.matches(AuditQuery()).compactMap { match -> [String: String]? in
            guard case .change(let change) = match.event else { return nil }
            return change.details
        }
        #expect(details.map { $0["start"] } == Array(repeating: APITime.text(told.start), count: 2))
        #expect(details.first?["end"] == told.end.map(APITime.text))
        #expect(details.last?["at"] == last.first?.end.map(APITime.text))
    }

    @Test(arguments: TokenStoreKind.available, [true, false])
    func `an assignment that ended long ago is gone after the next change`(
        kind: TokenStoreKind, adds: Bool
    ) async throws {
        let world = try await TemporaryStore.make(kind)
        let administration = Administration(store: world.store)
        let vehicle = AssignedResource.vehicle(try VehicleID(checking: "veh-3"))
        let start = Self.now - 40 * 86_400
        let days: TimeInterval = 86_400
        let old: [Date?] = [start + days, start + 10 * days]
        let others: [Date?] = [start + 10.5 * days, start + 50 * days, nil]
        for end in old + others {
            try await administration.add(
                Assignment(holder: Self.driver, resource: vehicle, start: start, end: end), by: Self.actor, at: start)
        }
        if adds {
            let other = CallerID(issuer: "login", subject: "driver-8")
            try await administration.add(
                Assignment(holder: other, resource: vehicle, start: Self.now), by: Self.actor, at: Self.now)
        } else {
            let none = AssignedResource.vehicle(try VehicleID(checking: "veh-4"))
            #expect(
                try await administration.end(none, of: Self.driver, at: Self.now, by: Self.actor, now: Self.now) == 0)
        }
        let left = try await StoredAssignments(store: world.store).assignments(
            of: Self.driver, to: nil, at: nil, limit: 10)
        #expect(Set(left.map(\.end)) == Set(others))
        #expect(try await Self.actions(in: world) { $0.subject = "driver-7" }.count == 5)
    }

    @Test func `an assignment that ended long ago changes nothing, however often it is added`() async throws {
        let world = try TemporaryStore()
        let days: TimeInterval = 86_400
        let old = Assignment(
            holder: Self.driver, resource: .vehicle(try VehicleID(checking: "veh-3")), start: Self.now - 40 * days,
            end: Self.now - 30 * days)
        for _ in 1...2 {
            let added = try await Administration(store: world.store).add(old, by: Self.actor, at: Self.now)
            #expect(!added.isNew && added.assignment == old)
        }
        #expect(try await Self.actions(in: world) { $0.subject = "driver-7" }.isEmpty)
    }

    @Test func `of many that ended long ago, each change removes some`() async throws {
        let world = try TemporaryStore()
        try await world.tamper(
            """
            WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 1500)
            INSERT INTO assignment (issuer, subject, kind, resource, start_ms, end_ms)
            SELECT 'login', 'driver-7', 'vehicle', 'veh-3', n, n + 1 FROM number
            """)
        let vehicle = AssignedResource.vehicle(try VehicleID(checking: "veh-3"))
        for left in [500, 0] {
            try await Administration(store: world.store).end(
                vehicle, of: Self.driver, at: Self.now, by: Self.actor, now: Self.now)
            let listed = try await StoredAssignments(store: world.store).assignments(
                of: nil, to: nil, at: nil, limit: 2000)
            #expect(listed.count == left)
        }
    }

    @Test(arguments: TokenStoreKind.available)
    func `administrators and servers write one chain at once`(kind: TokenStoreKind) async throws {
        let world = try await TemporaryStore.make(kind)
        let log = StoredAuditLog(store: try world.another(), logger: Logger(label: "test"))
        let administration = Administration(store: try world.another())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask { try await log.append(.granted(.server, at: Double(number))) }
                group.addTask { try await administration.revoke(.key("key-\(number)"), by: Self.actor, at: Self.now) }
            }
            try await group.waitForAll()
        }
        #expect(try await world.reader.verify().head.sequence == 100)
    }

    @Test(arguments: TokenStoreKind.available)
    func `a busy caller's tokens are withdrawn before decisions have to wait, and those given meanwhile after`(
        kind: TokenStoreKind
    ) async throws {
        let world = try await TemporaryStore.make(kind)
        let log = StoredAuditLog(store: world.store, logger: Logger(label: "test"))
        let seconds = Self.now.timeIntervalSince1970
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...600 {
                group.addTask { try await log.append(.granted(.server, at: seconds - Double(number))) }
            }
            try await group.waitForAll()
        }
        let watched = WatchedDatabase(world.store.database) {
            try await log.append(.granted(.server, at: seconds + 1))
        }
        let revoked = try await Administration(store: TokenServerStore(watched)).revoke(
            .caller("app"), by: Self.actor, at: Self.now)
        #expect(watched.steps == ["withdraw 600", "lock", "withdraw 1"])
        #expect(Set(revoked.map(\.value)).count == 601)
        #expect(try await RevocationStore(store: world.store).current(at: Self.now).count == 601)
    }

    @Test(arguments: TokenStoreKind.available, [-120.0, -3, 3, 120])
    func `a change is made by the database's clock, and by none that is far from it`(
        kind: TokenStoreKind, ahead: TimeInterval
    ) async throws {
        let world = try await TemporaryStore.make(kind)
        let start = Date()
        let clock: @Sendable () -> Date = { start + ahead }
        guard kind == .postgreSQL else {
            // A file has no clock but the machine's.
            #expect(try await world.store.time(by: clock) == start + ahead)
            return
        }
        guard abs(ahead) > 5 else {
            let moving: @Sendable () -> Date = { Date() + ahead }
            let time = try await world.store.time(by: moving)
            #expect(start - 0.001 <= time && time <= Date())
            return
        }
        let error = await #expect(throws: TokenServerError.self) { try await world.store.time(by: clock) }
        #expect(error?.code == .wrongClock)
        #expect(error?.message.contains(APITime.text(start + ahead)) == true)
        #expect(error?.message.matches(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/).count == 2)
    }

    /// Records and hashes as they were written before changes were recorded.
    @Test func `a chain of decisions alone still verifies, and goes on`() async throws {
        let world = try TemporaryStore()
        let records = [
            (
                #"{"address":"192.0.2.7","caller":"app","claims":{"vehicleid":"veh-1"},"decision":"granted","expires_at":3301,"fingerprint":"00ff1000","issuer":"test","key_id":"key-1","role":"driver","rule":"drivers","subject":"app","time_ms":1000}"#,
                "833e10a03d5848d3e994972b1bfd78a0283502404893147ba0c31bbe110215ed"
            ),
            (
                #"{"caller":"app","claims":{"tripid":"trip-1"},"decision":"refused","issuer":"test","reason":"policy_failed","role":"consumer","subject":"app","time_ms":2000}"#,
                "728d6654bed6ea29608c15d90392bd583fc7b6ccdf01d0c610eff3b2f5fb7088"
            ),
        ]
        for (index, record) in records.enumerated() {
            try await world.tamper(
                "INSERT INTO audit_record (sequence, content, hash) VALUES (\(index + 1), '\(record.0)', '\(record.1)');"
                    + "UPDATE audit_head SET sequence = \(index + 1), hash = '\(record.1)'")
        }
        #expect(try await world.reader.verify().head.sequence == 2)
        try await Administration(store: world.store).revoke(.key("key-1"), by: Self.actor, at: Self.now)
        #expect(try await world.reader.verify(anchor: AuditHead("2:\(records[1].1)")).head.sequence == 3)
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import Testing

@testable import FleetTokenServer

/// What can be asked and told of assignments alike, in memory and in a database.
private protocol ChangingAssignments: AssignmentStore {
    func add(_ assignment: Assignment) async throws
    func end(_ resource: AssignedResource, of holder: CallerID, at time: Date) async throws -> Int
    func assignments(
        of holder: CallerID?, to resource: AssignedResource?, at time: Date?, endingAfter end: Date?, limit: Int
    ) async throws -> [Assignment]
}

extension InMemoryAssignmentStore: ChangingAssignments {}

/// Assignments in a database, as an administrator changes them.
private struct AdministeredAssignments: ChangingAssignments {
    private static let actor = AuditChange.Actor(localUser: "ops")

    let store: TokenServerStore
    private var stored: StoredAssignments { StoredAssignments(store: self.store) }
    private var administration: Administration { Administration(store: self.store) }

    func isAssigned(_ resource: AssignedResource, to holder: CallerID, at time: Date) async throws -> Bool {
        try await self.stored.isAssigned(resource, to: holder, at: time)
    }

    func add(_ assignment: Assignment) async throws {
        try await self.administration.add(assignment, by: Self.actor, at: assignment.start)
    }

    func end(_ resource: AssignedResource, of holder: CallerID, at time: Date) async throws -> Int {
        try await self.administration.end(resource, of: holder, at: time, by: Self.actor, now: time)
    }

    func assignments(
        of holder: CallerID?, to resource: AssignedResource?, at time: Date?, endingAfter end: Date?, limit: Int
    ) async throws -> [Assignment] {
        try await self.stored.assignments(of: holder, to: resource, at: time, endingAfter: end, limit: limit)
    }
}

/// The stores in databases answer as the one in memory does.
@Suite struct StoredAssignmentsTests {
    private static func date(_ seconds: Double) -> Date { Date(timeIntervalSince1970: 1_767_225_600 + seconds) }
    private static let dora = CallerID(issuer: "idp", subject: "dora")
    private static let dirk = CallerID(issuer: "idp", subject: "dirk")

    @Test(arguments: TokenStoreKind.available)
    func `all stores answer alike`(kind: TokenStoreKind) async throws {
        let world = try await TemporaryStore.make(kind)
        let stores: [any ChangingAssignments] = [
            InMemoryAssignmentStore(), AdministeredAssignments(store: world.store),
        ]
        var answers: [[String]] = []
        for store in stores { answers.append(try await Self.story(store)) }
        #expect(answers[0] == answers[1])
        #expect(answers[0].first == "1: true false false true")
    }

    @Test func `a list of a holder, a resource or a time looks at no others`() async throws {
        let world = try TemporaryStore()
        let van = AssignedResource.vehicle(try VehicleID(checking: "veh-1"))
        let lists: [(holder: CallerID?, resource: AssignedResource?, time: Date?, end: Date?)] = [
            (Self.dora, nil, nil, nil), (nil, van, nil, nil), (nil, nil, Self.date(0), nil),
            (nil, nil, nil, Self.date(0)), (Self.dora, nil, nil, Self.date(0)), (Self.dora, van, Self.date(0), nil),
        ]
        for list in lists {
            let query = StoredAssignments.query(
                of: list.holder, to: list.resource, at: list.time, endingAfter: list.end, limit: 10)
            let steps = try await world.store.database.read { database in
                var steps: [String] = []
                try database.rows("EXPLAIN QUERY PLAN \(query.sql)", query.values) { row in
                    steps.append(try row.text(3))
                    return true
                }
                return steps
            }
            #expect(steps.contains { $0.hasPrefix("SEARCH") })
            #expect(!steps.contains { $0.hasPrefix("SCAN") }, "\(steps)")
        }
    }

    /// What a store says while assignments come and go.
    private static func story(_ store: any ChangingAssignments) async throws -> [String] {
        var told: [String] = []
        let van = AssignedResource.vehicle(try VehicleID(checking: "veh-1"))
        let trip = AssignedResource.trip(try TripID(checking: "veh-1"))
        func tell(_ step: String) async throws {
            var words: [String] = []
            for (resource, holder, seconds) in [
                (van, Self.dora, 0.0), (van, Self.dora, 100), (trip, Self.dora, 50), (van, Self.dirk, 50),
            ] {
                words.append("\(try await store.isAssigned(resource, to: holder, at: Self.date(seconds)))")
            }
            told.append("\(step): \(words.joined(separator: " "))")
            for (holder, resource) in [(nil, nil), (Self.dora, nil), (nil, van), (Self.dirk, van)]
                as [(CallerID?, AssignedResource?)]
            {
                func list(at time: Date? = nil, endingAfter end: Date? = nil) async throws -> [Assignment] {
                    try await store.assignments(of: holder, to: resource, at: time, endingAfter: end, limit: 3)
                }
                let (all, now) = (try await list(), try await list(at: Self.date(50)))
                let later = try await list(endingAfter: Self.date(100))
                told.append("\(all) \(now) \(later)")
            }
        }
        let long = Assignment(holder: Self.dirk, resource: van, start: Self.date(-10))
        try await store.add(Assignment(holder: Self.dora, resource: van, start: Self.date(0), end: Self.date(100)))
        try await store.add(long)
        try await store.add(long)
        try await tell("1")
        try await store.add(Assignment(holder: Self.dora, resource: van, start: Self.date(200), end: Self.date(300)))
        try await store.add(Assignment(holder: Self.dora, resource: trip, start: Self.date(0)))
        try await tell("2")
        told.append("\(try await store.end(van, of: Self.dora, at: Self.date(60)))")
        try await tell("3")
        told.append("\(try await store.end(van, of: Self.dirk, at: Self.date(-10)))")
        told.append("\(try await store.end(van, of: Self.dirk, at: Self.date(0)))")
        try await tell("4")
        // Some that began together end together, one of them then already.
        for end in [400.0, 500, nil] as [Double?] {
            try await store.add(
                Assignment(holder: Self.dora, resource: van, start: Self.date(350), end: end.map(Self.date)))
        }
        told.append("\(try await store.end(van, of: Self.dora, at: Self.date(400)))")
        try await tell("5")
        return told
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import Testing

@testable import FleetTokenServer

@Suite struct RulePolicyTests {
    static let noon = Date(timeIntervalSince1970: 1_767_268_800)

    static let yaml = """
        version: 1
        rules:
          - name: drivers, by assignment
            when: {issuer: acme, claims: {groups: drivers}}
            grant: driver
            for: assigned
          - name: drivers, by claim
            when: {issuer: partner, claims: {groups: [drivers, night-drivers]}}
            grant: [driver]
            for: {claim: vehicle}
          - name: customers, by assignment
            when: {issuer: acme, claims: {groups: customers}}
            grant: [consumer, delivery_consumer]
            for: assigned
          - name: couriers on their own phones
            when: {issuer: acme, claims: {groups: couriers}}
            grant: delivery_untrusted_driver
            for: assigned
          - name: couriers on company devices
            when: {issuer: acme, claims: {groups: couriers, device.kind: managed}}
            grant: delivery_trusted_driver
            for: assigned
            task: assigned
          - name: the depot's tablets
            when: {issuer: acme, subject: [tablet-1, tablet-2]}
            grant: delivery_trusted_driver
            for: {ids: [dv-1, dv-2]}
          - name: dispatch, for its users
            when: {issuer: static, roles: [driver, consumer], subject: dispatch}
            grant: [driver, consumer]
            for: any
          - name: the control room
            when: {issuer: acme, claims: {groups: controllers}}
            grant: [fleet_reader, delivery_fleet_reader]
            for: everything
          - name: test bench
            when: {issuer: acme, claims: {groups: testers}}
            grant: driver
            for: {ids: [test-1, "7"]}
        """

    static let callers: [String: Caller] = [
        "ann": Caller(name: "ann", issuer: "acme", claims: ["groups": ["drivers"]]),
        "bob": Caller(name: "bob", issuer: "acme", claims: ["groups": ["drivers", "testers"]]),
        "ann of partner": Caller(
            name: "ann", issuer: "partner", claims: ["groups": ["drivers"], "vehicle": ["veh-1", "veh-2"]]),
        "night of partner": Caller(
            name: "nic", issuer: "partner", claims: ["groups": ["night-drivers"], "vehicle": ["*"]]),
        "stranger of partner": Caller(name: "eve", issuer: "partner", claims: ["vehicle": ["veh-1"]]),
        "customer": Caller(name: "cus", issuer: "acme", claims: ["groups": ["customers"]]),
        "courier": Caller(name: "cou", issuer: "acme", claims: ["groups": ["couriers"]]),
        "managed courier": Caller(
            name: "cou", issuer: "acme", claims: ["groups": ["couriers"], "device.kind": ["managed"]]),
        "managed nobody": Caller(name: "cou", issuer: "acme", claims: ["device.kind": ["managed"]]),
        "tablet": Caller(name: "tablet-1", issuer: "acme"),
        "tablet of partner": Caller(name: "tablet-1", issuer: "partner"),
        "dispatch": Caller(name: "dispatch", issuer: "static", roles: [.driver, .consumer]),
        "another backend": Caller(name: "billing", issuer: "static", roles: [.driver, .consumer]),
        "dispatch without roles": Caller(name: "dispatch", issuer: "static"),
        "controller": Caller(name: "con", issuer: "acme", claims: ["groups": ["controllers"]]),
        "tester": Caller(name: "tes", issuer: "acme", claims: ["groups": ["testers"]]),
        "nobody": Caller(name: "nobody", issuer: "acme"),
        "everything's claims, no issuer": Caller(
            name: "x", issuer: "",
            claims: ["groups": ["drivers", "customers", "couriers", "controllers"], "device.kind": ["managed"]]),
    ]

    /// Who holds what; times are hours from noon.
    static func assignments() throws -> InMemoryAssignmentStore {
        func entry(
            _ subject: String, _ kind: String, _ id: String, _ hours: ClosedRange<Double> = -1...1
        ) throws -> Assignment {
            Assignment(
                holder: CallerID(issuer: "acme", subject: subject), resource: try AssignedResource(kind: kind, id: id),
                start: Self.noon + hours.lowerBound * 3600, end: Self.noon + hours.upperBound * 3600)
        }
        return InMemoryAssignmentStore([
            try entry("ann", "vehicle", "veh-1"), try entry("ann", "vehicle", "veh-2", -3 ... -2),
            try entry("ann", "vehicle", "veh-3", 1...2), try entry("ann", "vehicle", "veh-4", -1...0),
            try entry("ann", "vehicle", "veh-5", 0...1), try entry("ann", "trip", "trip-1"),
            try entry("bob", "vehicle", "veh-9"), try entry("cus", "trip", "trip-1"),
            try entry("cus", "tracking", "shp-1"), try entry("cus", "vehicle", "veh-1"),
            try entry("cus", "trip", "shp-2"), try entry("cou", "delivery_vehicle", "dv-1"),
            try entry("cou", "task", "task-1"), try entry("cou", "vehicle", "veh-1"),
            try entry("nobody", "vehicle", "veh-1"), try entry("con", "vehicle", "veh-1"),
            try entry("tablet-1", "task", "task-1"),
        ])
    }

    static func type(_ text: String) throws -> TokenType {
        let parts = text.split(separator: " ").map(String.init)
        let id = parts.count > 1 ? parts[1] : ""
        switch parts[0] {
        case "driver": return .driver(try VehicleID(checking: id))
        case "consumer": return .consumer(try TripID(checking: id))
        case "tracking": return .deliveryConsumer(try TrackingID(checking: id))
        case "task": return .deliveryConsumerTask(try TaskID(checking: id))
        case "untrusted": return .deliveryUntrustedDriver(try DeliveryVehicleID(checking: id))
        case "trusted":
            return .deliveryTrustedDriver(
                try DeliveryVehicleID(checking: id), task: parts.count > 2 ? try TaskID(checking: parts[2]) : nil)
        case "reader": return .fleetReader
        case "delivery-reader": return .deliveryFleetReader
        case "server": return .server
        case "delivery-server": return .deliveryServer
        case "batch": return .batchTaskCreation(.any)
        case "custom-driver": return .custom(.driver, try AuthorizationClaims(vehicle: .any))
        case "custom-reader": return .custom(.fleetReader, try AuthorizationClaims(vehicle: .any))
        default: return .custom(.onDemandAdmin, try AuthorizationClaims())
        }
    }

    static let none = "-"

    /// Caller, token, whether it is granted, and the rule that decided.
    static let table: [(String, String, Bool, String)] = [
        // A driver's token is for the vehicle assigned now.
        ("ann", "driver veh-1", true, "drivers, by assignment"),
        ("ann", "driver veh-2", false, "drivers, by assignment"),
        ("ann", "driver veh-3", false, "drivers, by assignment"),
        ("ann", "driver veh-4", false, "drivers, by assignment"),
        ("ann", "driver veh-5", true, "drivers, by assignment"),
        ("ann", "driver veh-9", false, "drivers, by assignment"),
        ("ann", "driver trip-1", false, "drivers, by assignment"),
        ("ann", "consumer trip-1", false, none),
        ("ann", "consumer veh-1", false, none),
        ("ann", "untrusted veh-1", false, none),
        ("ann", "trusted veh-1", false, none),
        ("ann", "tracking veh-1", false, none),
        ("ann", "reader", false, none),
        ("ann", "delivery-reader", false, none),
        ("ann", "server", false, none),
        ("ann", "custom-driver", false, none),
        // The first rule that grants decides, and another may grant what one does not.
        ("bob", "driver veh-9", true, "drivers, by assignment"),
        ("bob", "driver test-1", true, "test bench"),
        ("bob", "driver 7", true, "test bench"),
        ("bob", "driver veh-1", false, "drivers, by assignment"),
        ("tester", "driver test-1", true, "test bench"),
        ("tester", "driver test-2", false, "test bench"),
        ("tester", "trusted test-1", false, none),
        // The same subject of another issuer is somebody else.
        ("ann of partner", "driver veh-1", true, "drivers, by claim"),
        ("ann of partner", "driver veh-2", true, "drivers, by claim"),
        ("ann of partner", "driver veh-5", false, "drivers, by claim"),
        ("ann of partner", "untrusted veh-1", false, none),
        ("night of partner", "driver veh-1", false, "drivers, by claim"),
        ("stranger of partner", "driver veh-1", false, none),
        // A customer's is for the trip or shipment that is theirs.
        ("customer", "consumer trip-1", true, "customers, by assignment"),
        ("customer", "consumer trip-2", false, "customers, by assignment"),
        ("customer", "consumer shp-1", false, "customers, by assignment"),
        ("customer", "tracking shp-1", true, "customers, by assignment"),
        ("customer", "tracking shp-2", false, "customers, by assignment"),
        ("customer", "tracking trip-1", false, "customers, by assignment"),
        ("customer", "driver veh-1", false, none),
        ("customer", "task task-1", false, none),
        // Trusted and untrusted delivery drivers.
        ("courier", "untrusted dv-1", true, "couriers on their own phones"),
        ("courier", "untrusted dv-2", false, "couriers on their own phones"),
        ("courier", "trusted dv-1", false, none),
        ("courier", "trusted dv-1 task-1", false, none),
        ("courier", "driver veh-1", false, none),
        ("courier", "driver dv-1", false, none),
        ("managed courier", "untrusted dv-1", true, "couriers on their own phones"),
        ("managed courier", "trusted dv-1", true, "couriers on company devices"),
        ("managed courier", "trusted dv-1 task-1", true, "couriers on company devices"),
        ("managed courier", "trusted dv-1 task-2", false, "couriers on company devices"),
        ("managed courier", "trusted dv-2 task-1", false, "couriers on company devices"),
        ("managed nobody", "trusted dv-1", false, none),
        ("managed nobody", "untrusted dv-1", false, none),
        ("tablet", "trusted dv-1", true, "the depot's tablets"),
        ("tablet", "trusted dv-2", true, "the depot's tablets"),
        ("tablet", "trusted dv-3", false, "the depot's tablets"),
        ("tablet", "trusted dv-1 task-1", false, "the depot's tablets"),
        ("tablet", "trusted dv-1 dv-2", false, "the depot's tablets"),
        ("tablet", "untrusted dv-1", false, none),
        ("tablet of partner", "trusted dv-1", false, none),
        // A backend that asks for its users.
        ("dispatch", "driver veh-77", true, "dispatch, for its users"),
        ("dispatch", "consumer trip-77", true, "dispatch, for its users"),
        ("dispatch", "tracking shp-77", false, none),
        ("dispatch", "custom-driver", false, none),
        ("dispatch", "server", false, none),
        ("another backend", "driver veh-77", false, none),
        ("dispatch without roles", "driver veh-77", false, none),
        // Readers of everything.
        ("controller", "reader", true, "the control room"),
        ("controller", "delivery-reader", true, "the control room"),
        ("controller", "custom-reader", false, none),
        ("controller", "driver veh-1", false, none),
        ("controller", "server", false, none),
        ("controller", "delivery-server", false, none),
        ("controller", "batch", false, none),
        ("controller", "admin", false, none),
        // Nothing is granted that no rule grants.
        ("nobody", "driver veh-1", false, none),
        ("nobody", "reader", false, none),
        ("everything's claims, no issuer", "driver veh-1", false, none),
        ("everything's claims, no issuer", "reader", false, none),
        ("everything's claims, no issuer", "trusted dv-1", false, none),
        ("everything's claims, no issuer", "consumer trip-1", false, none),
    ]

    @Test(arguments: table)
    func `a token is granted or refused, by the rule that says so`(
        caller: String, token: String, isGranted: Bool, rule: String
    ) async throws {
        let policy = try RulePolicy(yaml: Self.yaml, assignments: try Self.assignments())
        let decision = try await policy.decide(
            try Self.type(token), for: try #require(Self.callers[caller]), at: Self.noon)
        switch decision {
        case .granted(let granting):
            #expect(isGranted && granting == rule)
        case .refused(let refusing, let reason):
            #expect(!isGranted && (refusing ?? Self.none) == rule)
            #expect(reason.hasSuffix("."))
        }
    }

    @Test func `the table has rows enough, of both kinds`() {
        #expect(Self.table.count >= 60)
        #expect(Self.table.count { $0.2 } >= 18)
    }

    @Test(arguments: [
        ("groups", "K", "driver v", true), ("groups", "\u{212A}", "driver v", false),
        ("groups", "Jos\u{E9}", "driver v", true), ("groups", "Jose\u{301}", "driver v", false),
        ("Key", "x", "driver v", true), ("\u{212A}ey", "x", "driver v", false),
        ("Key", "v", "consumer v", true), ("\u{212A}ey", "v", "consumer v", false),
        ("Key", "K1", "consumer K1", true), ("Key", "\u{212A}1", "consumer K1", false),
        ("Key", "\u{E9}", "consumer \u{E9}", true), ("Key", "e\u{301}", "consumer \u{E9}", false),
    ])
    func `what is only equivalent to the policy's texts grants nothing`(
        claim: String, value: String, token: String, isGranted: Bool
    ) async throws {
        let policy = try RulePolicy(
            yaml: """
                version: 1
                rules:
                  - {name: a value, when: {issuer: acme, claims: {groups: [K, Jos\u{E9}]}}, grant: driver, for: any}
                  - {name: a name, when: {issuer: acme, claims: {Key: x}}, grant: driver, for: any}
                  - {name: an id, when: {issuer: acme}, grant: consumer, for: {claim: Key}}
                """,
            assignments: InMemoryAssignmentStore())
        let caller = Caller(name: "ann", issuer: "acme", claims: [claim: [value]])
        let decision = try await policy.decide(try Self.type(token), for: caller, at: Self.noon)
        #expect(decision.isGranted == isGranted)
    }

    @Test(arguments: [("Kim", "K", true), ("\u{212A}im", "K", false), ("Kim", "\u{212A}", false)])
    func `a caller of a name that is only equivalent is somebody else`(
        subject: String, issuer: String, isGranted: Bool
    ) async throws {
        let policy = try RulePolicy(
            yaml: "{version: 1, rules: [{name: kim, when: {issuer: K, subject: Kim}, grant: driver, for: any}]}",
            assignments: InMemoryAssignmentStore())
        let caller = Caller(name: "kim", subject: subject, issuer: issuer)
        let decision = try await policy.decide(try Self.type("driver v"), for: caller, at: Self.noon)
        #expect(decision.isGranted == isGranted)
    }

    @Test func `an assignment takes effect at once, and so does its end`() async throws {
        let store = InMemoryAssignmentStore()
        let policy = try RulePolicy(yaml: Self.yaml, assignments: store)
        let type = try Self.type("driver veh-1")
        let ann = try #require(Self.callers["ann"])
        #expect(try await !policy.decide(type, for: ann, at: Self.noon).isGranted)
        let vehicle = try AssignedResource(kind: "vehicle", id: "veh-1")
        store.add(Assignment(holder: ann.id, resource: vehicle, start: Self.noon))
        #expect(try await policy.decide(type, for: ann, at: Self.noon).isGranted)
        #expect(store.end(vehicle, of: ann.id, at: Self.noon + 60) == 1)
        #expect(try await policy.decide(type, for: ann, at: Self.noon + 59).isGranted)
        #expect(try await !policy.decide(type, for: ann, at: Self.noon + 60).isGranted)
        #expect(store.assignments(of: ann.id, to: nil, at: nil, limit: 9).map(\.end) == [Self.noon + 60])
        #expect(store.end(vehicle, of: ann.id, at: Self.noon) == 1)
        #expect(store.assignments(of: nil, to: vehicle, at: nil, limit: 9).isEmpty)
    }

    struct BrokenStore: AssignmentStore {
        struct Gone: Error {}
        func isAssigned(_: AssignedResource, to: CallerID, at: Date) async throws -> Bool { throw Gone() }
    }

    @Test func `a store that is gone grants nothing, and is no refusal`() async throws {
        let policy = try RulePolicy(yaml: Self.yaml, assignments: BrokenStore())
        let bob = try #require(Self.callers["bob"])
        await #expect(throws: BrokenStore.Gone.self) {
            try await policy.decide(try Self.type("driver veh-9"), for: bob, at: Self.noon)
        }
        // A rule that needs no store still decides.
        let decision = try await policy.decide(try Self.type("driver test-1"), for: bob, at: Self.noon)
        #expect(decision == .granted(rule: "test bench"))
    }

    @Test func `a role that an authenticator of your own gives is looked at as any other`() async throws {
        let policy = try RulePolicy(
            yaml: "{version: 1, rules: [{name: all, when: {roles: dispatcher}, grant: driver, for: any}]}",
            assignments: InMemoryAssignmentStore())
        func isGranted(_ role: String) async throws -> Bool {
            let caller = Caller(name: "dora", issuer: "acme", roles: [Role(rawValue: role)])
            return try await policy.decide(try Self.type("driver v"), for: caller, at: Self.noon).isGranted
        }
        #expect(try await isGranted("dispatcher"))
        #expect(try await !isGranted("driver"))
    }

    @Test func `the policy of roles names the role as its rule`() async throws {
        let caller = Caller(name: "a", issuer: "static", roles: [.driver])
        let granted = try await RolePolicy().decide(try Self.type("driver v"), for: caller, at: Self.noon)
        #expect(granted == .granted(rule: "role driver"))
        #expect(try await !RolePolicy().decide(try Self.type("consumer t"), for: caller, at: Self.noon).isGranted)
    }
}

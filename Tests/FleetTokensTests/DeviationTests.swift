// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import FleetTokens

@Suite struct DeviationTests {
    private static let account = "driver@acme.iam.gserviceaccount.com"

    private func found(
        header: String = #"{"alg":"RS256","kid":"k1","typ":"JWT"}"#, at seconds: TimeInterval = 0,
        role: Role = .driver, roles: Set<Role>? = nil, granted: Set<Permission>? = nil,
        _ change: (inout JSONObject) -> Void = { _ in }
    ) throws -> [Deviation] {
        let account = TrustedAccount(
            email: Self.account, role: role, provider: ProviderID("acme"), granted: granted, roles: roles)
        let keys = FakeKeys(list: [FakeKey(id: "k1", account: account, byte: 1)])
        let now = TokenExaminerTests.now + seconds
        let token = TokenExaminerTests.token(header: header, change)
        let examined = try TokenExaminer().examine(token, keys: keys, now: now)
        let explained = TokenExaminer().explain(token, request: nil, keys: keys, now: now)
        #expect(explained.deviations == examined.deviations(at: now))
        return Array(examined.deviations(at: now))
    }

    @Test func `a token as the guide has it departs from nothing`() throws {
        #expect(try self.found() == [])
    }

    @Test func `a header without kid or typ is found`() throws {
        #expect(try self.found(header: #"{"alg":"RS256","typ":"JWT"}"#) == [.tokenWithoutKeyID])
        #expect(try self.found(header: #"{"alg":"RS256","kid":"k1"}"#) == [.tokenWithoutType])
        #expect(try self.found(header: #"{"alg":"RS256","kid":"k1","typ":"jwt"}"#) == [.tokenWithoutType])
    }

    @Test func `a scope and claims that nobody knows are found`() throws {
        #expect(try self.found { $0["scope"] = .string("cloud-platform") } == [.tokenWithScope])
        let claims = JSONValue.object(["vehicleid": .string("veh-3"), "vehicleId": .string("veh-3")])
        #expect(try self.found { $0["authorization"] = claims } == [.tokenWithUnknownClaim])
        for value in [JSONValue.array([.string("a")]), .integer(1), .null, .bool(true), .object([:])] {
            let claims = JSONValue.object(["vehicleid": .string("veh-3"), "taskIds": value])
            #expect(try self.found { $0["authorization"] = claims } == [.tokenWithUnknownClaim])
        }
    }

    @Test func `a lifetime other than an hour is found`() throws {
        #expect(try self.found { $0["exp"] = .integer(1_767_228_899) } == [.lifetimeNotOneHour])
    }

    @Test(arguments: [
        (Role.driver, "vehicleid"), (.consumer, "tripid"), (.deliveryConsumer, "trackingid"),
        (.deliveryUntrustedDriver, "deliveryvehicleid"), (.deliveryTrustedDriver, "taskid"),
    ])
    func `a wildcard in a device's token is found, and a backend's is not`(role: Role, claim: String) throws {
        let claims = JSONValue.object([claim: .string("*")])
        #expect(try self.found(role: role) { $0["authorization"] = claims } == [.wildcardInDeviceToken])
        #expect(try self.found(role: .fleetReader) { $0["authorization"] = claims } == [])
    }

    @Test func `a wildcard for a batch of tasks is found in a device's token, too`() throws {
        let claims = JSONValue.object(["taskids": .array([.string("*")])])
        #expect(
            try self.found(role: .deliveryTrustedDriver) { $0["authorization"] = claims } == [.wildcardInDeviceToken])
        #expect(try self.found(role: .deliveryServer) { $0["authorization"] = claims } == [])
    }

    @Test(arguments: [
        (Role.driver, "taskid"), (.deliveryConsumer, "taskid"), (.deliveryUntrustedDriver, "taskid"),
        (.deliveryServer, "vehicleid"), (.onDemandAdmin, "vehicleid"),
    ])
    func `a claim that the role cannot use is found`(role: Role, claim: String) throws {
        let claims = JSONValue.object([claim: .string("one")])
        #expect(try self.found(role: role) { $0["authorization"] = claims } == [.claimThatOpensNothing])
    }

    @Test func `an account of several roles is a device's where all of them are`() throws {
        func found(_ roles: Set<Role>) throws -> [Deviation] {
            try self.found(role: Role(rawValue: "several"), roles: roles) {
                $0["authorization"] = .object(["vehicleid": .string("*")])
            }
        }
        #expect(try found([.driver, .deliveryUntrustedDriver]) == [.wildcardInDeviceToken])
        #expect(try found([.driver, .server]) == [])
        #expect(try found([]) == [])
    }

    @Test func `a claim opens nothing where none of an account's roles can use it`() throws {
        func found(_ claim: String, _ roles: Set<Role>, granted: Set<Permission>? = nil) throws -> [Deviation] {
            try self.found(role: Role(rawValue: "several"), roles: roles, granted: granted) {
                $0["authorization"] = .object([claim: .string("one")])
            }
        }
        #expect(try found("taskid", [.driver, .deliveryUntrustedDriver]) == [.claimThatOpensNothing])
        #expect(try found("taskid", [.driver, .deliveryTrustedDriver]) == [])
        #expect(try found("vehicleid", [.onDemandAdmin, .deliveryServer]) == [.claimThatOpensNothing])
        #expect(try found("vehicleid", [.onDemandAdmin, .server]) == [])
        // What a role of one's own permits beside them is not in the roles.
        #expect(try found("taskid", [.driver], granted: [.tripsGet, .tasksGet]) == [])
        #expect(try found("taskid", [], granted: [.tripsGet]) == [])
    }

    @Test func `the first minute and the last five are found at the time of use`() throws {
        // The token was issued 300 s before the examiner's time, and ends 3300 s after it.
        #expect(try self.found(at: -241) == [.tokenNotBackdated])
        #expect(try self.found(at: -240) == [])
        #expect(try self.found(at: 3000) == [])
        #expect(try self.found(at: 3001) == [.tokenNearExpiry])
        #expect(try self.found(at: 3299) == [.tokenNearExpiry])
        // At its end a token is over, which is a refusal.
        #expect(DeviationSet(usingTokenFrom: 0, until: 3600, at: 3600).isEmpty)
    }

    @Test func `each rule of the table has a name and a source of its own`() {
        let rules = Deviation.allCases.map(\.rule)
        #expect(Set(rules.map(\.id)).count == rules.count)
        for rule in rules {
            #expect(rule.id.allSatisfy { $0.isLowercase || $0.isNumber || $0 == "-" })
            #expect(!rule.source.isEmpty && !rule.why.isEmpty)
            // Warnings travel in header fields.
            #expect("\(rule.what) \(rule.fix)".utf8.allSatisfy { (0x20..<0x7f).contains($0) })
        }
    }
}

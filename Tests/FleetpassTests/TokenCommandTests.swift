// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetTokens
import Foundation
import Testing

@testable import fleetpass

@Suite struct TokenIDsTests {
    @Test(arguments: [
        ("consumer", ["--trip", "t"], #"{"tripid":"t"}"#), ("driver", ["--vehicle", "v"], #"{"vehicleid":"v"}"#),
        ("server", [], #"{"tripid":"*","vehicleid":"*"}"#), ("server", ["--trip", "t"], #"{"tripid":"t"}"#),
        ("delivery_consumer", ["--tracking", "s"], #"{"trackingid":"s"}"#),
        ("delivery_consumer", ["--task", "k"], #"{"taskid":"k"}"#),
        ("delivery_untrusted_driver", ["--delivery-vehicle", "d"], #"{"deliveryvehicleid":"d"}"#),
        (
            "delivery_trusted_driver", ["--delivery-vehicle", "d", "--task", "k"],
            #"{"deliveryvehicleid":"d","taskid":"k"}"#
        ),
        ("delivery_fleet_reader", [], #"{"deliveryvehicleid":"*","taskid":"*","trackingid":"*"}"#),
        ("delivery_server", ["--batch-task", "a", "--batch-task", "b"], #"{"taskids":["a","b"]}"#),
    ])
    func `a role and ids make the claims of its token`(role: String, arguments: [String], claims: String) throws {
        let ids = try TokenIDs.parse(arguments)
        #expect(try ids.claims(for: Role(rawValue: role))?.summary == claims)
    }

    @Test func `an admin's token has no claims`() throws {
        #expect(try TokenIDs.parse([]).claims(for: .onDemandAdmin) == nil)
        #expect(try TokenIDs.parse([]).claims(for: .deliveryAdmin) == nil)
    }

    @Test(arguments: [
        ("consumer", []), ("driver", ["--trip", "t"]), ("delivery_untrusted_driver", []), ("delivery_consumer", []),
        ("nobody", []), ("delivery_consumer", ["--tracking", "s", "--task", "k"]),
    ])
    func `what makes no token is a usage error`(role: String, arguments: [String]) throws {
        let ids = try TokenIDs.parse(arguments)
        let failure = #expect(throws: CommandFailure.self) { try ids.claims(for: Role(rawValue: role)) }
        #expect(failure?.status == .usage)
    }

    @Test(arguments: ["*", "", "a/b"])
    func `an id on the command line is checked`(id: String) {
        #expect(throws: (any Error).self) { try TokenIDs.parse(["--vehicle", id]) }
    }
}

@Suite struct TimeArgumentTests {
    @Test func `a time may have a fraction and an offset`() throws {
        let search = try AuditSearchCommand.parse(["--data", "d", "--at", "2027-01-01T02:00:00.5+02:00"])
        #expect(search.at == Date(timeIntervalSince1970: 1_798_761_600.5))
    }

    @Test(arguments: [
        "2027-02-30T00:00:00Z", "2027-01-01T25:00:00Z", "2027-01-01T00:00:00ZEVIL", "2027-1-1T1:1:1Z", "2027-01-01",
    ])
    func `what only resembles a time is a usage error`(text: String) {
        #expect(throws: (any Error).self) { try AuditSearchCommand.parse(["--data", "d", "--at", text]) }
    }
}

@Suite struct RevokeCommandTests {
    @Test(arguments: ["--key", "--caller", "--subject", "--fingerprint"])
    func `what no token has withdraws nothing`(option: String) {
        for value in ["", String(repeating: "a", count: 257)] {
            let error = #expect(throws: (any Error).self) {
                try RevokeCommand.parse(["--data", "data", option, value])
            }
            let message = error.map { RevokeCommand.message(for: $0) }
            let fault = "\(option) is \(value.isEmpty ? "empty" : "257 bytes")"
            #expect(message?.contains(option == "--fingerprint" ? "16 hexadecimal digits" : fault) == true)
        }
        let length = option == "--fingerprint" ? 16 : 256
        #expect(throws: Never.self) {
            try RevokeCommand.parse(["--data", "data", option, String(repeating: "a", count: length)])
        }
    }
}

@Suite struct ExplanationReportTests {
    @Test func `the first refusal is marked, and every fault has its fix`() {
        let explanation = TokenExaminer().explain("a.b", request: nil, keys: nil, now: Date())
        let report = ExplanationReport(explanation)
        #expect(!report.allowed)
        #expect(report.reason == "TOKEN_MALFORMED")
        let lines = report.text.split(separator: "\n")
        #expect(lines[0] == "   ok       size           3 bytes")
        #expect(lines[1].hasPrefix("=> refused  form           TOKEN_MALFORMED: "))
        #expect(lines[2].trimmingCharacters(in: .whitespaces).hasPrefix("fix: "))
        #expect(lines.filter { $0.hasPrefix("=>") }.count == 1)
        #expect(lines.count == TokenRule.allCases.count + 1)
    }
}

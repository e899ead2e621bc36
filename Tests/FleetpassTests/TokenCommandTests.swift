// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetSigning
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

@Suite struct TokenArgumentTests {
    @Test(arguments: ["a.b.c", "a.b.c\r", "a.b.c\r\n", " \ta.b.c\n\n", "\u{FEFF}a.b.c", "\u{FEFF}a.b.c\r\n"])
    func `a token is read without what its file has round it`(text: String) throws {
        #expect(try TokenArgument.parse([text]).read() == "a.b.c")
        #expect(TokenArgument.token(in: Data(text.utf8)) == "a.b.c")
    }

    @Test func `what stands within a token stays`() throws {
        for text in ["a.b\r.c", "a.\u{FEFF}b.c", "a.b.c\u{FEFF}"] {
            #expect(try TokenArgument.parse([text]).read().utf8.elementsEqual(text.utf8))
        }
    }

    @Test func `a file's path is told from a token`() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).jwt")
        try Data("a.b.c".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let argument = try TokenArgument.parse([file.path(percentEncoded: false)])
        let failure = #expect(throws: CommandFailure.self) { try argument.read() }
        #expect(failure?.status == .usage)
        #expect(failure?.message.contains("- < FILE") == true)
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

    /// A token of a hostile issuer that nobody signed.
    private func hostileToken() -> String {
        let account = "a\r\u{1B}[2K\n   ok       signature      RS256\u{9B}\u{2028}\u{202E}"
        func part(_ bytes: some Collection<UInt8>) -> String {
            String(decoding: Base64URL.encode(bytes), as: UTF8.self)
        }
        let payload: JSONObject = [
            "iss": .string(account), "sub": .string(account), "aud": .string(account), "iat": .integer(1),
            "exp": .integer(2), "scope": .string("s"), "email": .string("e@x"), "limit": .double(.infinity),
            "authorization": .object(["vehicleid": .string("v"), account: .string("x")]),
        ]
        let header = #"{"alg":"RS256","kid":"k\u001b[2K","typ":"JWT"}"#
        return "\(part(header.utf8)).\(part(JSONValue.object(payload).serialized)).AAAA"
    }

    @Test func `nothing of a token steers the terminal or forges a line`() {
        let keys = TrustedKeySet([])
        let explanation = TokenExaminer().explain(self.hostileToken(), request: nil, keys: keys, now: Date())
        #expect(explanation.claims?.issuer.contains("\u{1B}") == true)
        let text = ExplanationReport(explanation).text
        #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || ($0.value >= 0x20 && $0.value < 0x7F) || $0 == "…" })
        #expect(!text.split(separator: "\n").contains { $0.hasPrefix("   ok       signature") })
        #expect(text.contains(#"names no trusted key: "k\u001b[2K"."#))
    }

    @Test func `inspect shows all that a token holds`() throws {
        let (header, payload) = InspectCommand.parts(of: self.hostileToken())
        #expect(header?.object?["kid"] == .string("k\u{1B}[2K"))
        #expect(payload?.object?["scope"] == .string("s") && payload?.object?["email"] == .string("e@x"))
        let explanation = TokenExaminer().explain(self.hostileToken(), request: nil, keys: nil, now: Date())
        let report = ExplanationReport(explanation, header: header, payload: payload)
        let json = String(decoding: try JSONEncoder().encode(report), as: UTF8.self)
        for text in [#""alg":"RS256""#, #""email":"e@x""#, #""limit":null"#] { #expect(json.contains(text)) }
        for token in ["", "a", "a.b", "..", String(repeating: ".", count: 100_000)] {
            let (header, payload) = InspectCommand.parts(of: token)
            #expect(header == nil && payload == nil)
        }
    }
}

@Suite struct ExplainCommandTests {
    /// The call that is asked about.
    private func request(_ method: FleetMethod, _ resources: String...) throws -> AccessRequest {
        let names = resources.flatMap { ["--resource", "providers/\($0)"] }
        return try ExplainCommand.parse(["-", "--method", method.name] + names).request(for: method)
    }

    @Test func `a batch has as many resources as it has tasks, any other call has one`() throws {
        let batch = try self.request(.batchCreateTasks, "acme/tasks/a", "acme/tasks/b")
        #expect(batch.tasks.map(\.value) == ["a", "b"] && batch.provider.value == "acme")
        #expect(try self.request(.batchCreateTasks, "acme/tasks/a").tasks.map(\.value) == ["a"])
        #expect(try self.request(.getTask, "acme/tasks/a").tasks.map(\.value) == ["a"])
        for (method, other, told) in [
            (FleetMethod.batchCreateTasks, "rival/tasks/b", "of one provider"),
            (.batchCreateTasks, "acme/vehicles/b", "addresses providers/PROVIDER/tasks/ID"),
            (.getTask, "acme/tasks/b", "GetTask addresses one resource"),
        ] {
            let failure = #expect(throws: CommandFailure.self) { try self.request(method, "acme/tasks/a", other) }
            #expect(failure?.status == .usage && failure?.message.contains(told) == true)
        }
        #expect(throws: (any Error).self) { try self.request(.batchCreateTasks) }
    }

    @Test(arguments: [
        (FleetMethod.getTrip, "--update-mask", false), (.updateTrip, "--update-mask", true),
        (.createTrip, "--update-mask", true), (.updateTask, "--update-mask", true),
        (.deleteTrip, "--trip-vehicle", false), (.getTrip, "--trip-vehicle", true),
        (.createTrip, "--trip-vehicle", true),
    ])
    func `what decides nothing about the call is refused`(method: FleetMethod, option: String, counts: Bool) throws {
        let collection = method == .updateTask ? "tasks" : "trips"
        let call = ["-", "--method", method.name, "--resource", "providers/acme/\(collection)/x", option, "x"]
        let command = try ExplainCommand.parse(call)
        if counts {
            _ = try command.request(for: method)
            return
        }
        let failure = #expect(throws: CommandFailure.self) { try command.request(for: method) }
        #expect(failure?.status == .usage)
        #expect(failure?.message == "\(option) decides nothing about a call of \(method.name).")
    }

    @Test func `an id may begin with an accent`() throws {
        #expect(try self.request(.getTask, "acme/tasks/\u{301}").tasks.map(\.value) == ["\u{301}"])
    }

    /// What is advised in place of the refusals' own fixes, and why the call is refused.
    private func advice(
        for claims: AuthorizationClaims, of role: Role, method: FleetMethod, mask: String
    ) async throws -> (fixes: [TokenRule: String], reason: TokenRefusal.Reason?) {
        let trip = "providers/acme/trips/t"
        let key = try ServiceAccountKey(generatingFor: "app@acme.iam.gserviceaccount.com", projectID: "acme")
        let keys = TrustedKeySet([try key.publicKey(role: role, provider: ProviderID(checking: "acme"))])
        let minted = try await TokenMinter(signer: try LocalSigner(key)).mint(claims, at: Date())
        let request = AccessRequest(
            method: method, resource: try ResourceName(checking: trip), maskedFields: mask.isEmpty ? [] : [mask])
        let explanation = TokenExaminer().explain(
            minted.token.compactSerialization, request: request, keys: keys, now: Date())
        let command = try ExplainCommand.parse(
            ["-", "--method", method.name, "--resource", trip, "--update-mask", mask])
        return (command.fixes(for: request, in: explanation), explanation.refusal?.reason)
    }

    @Test func `a trip's vehicle is asked for where it decides`() async throws {
        let vehicle = try AuthorizationClaims(vehicle: .only(VehicleID(checking: "veh-3")))
        let trip = try AuthorizationClaims(trip: .only(TripID(checking: "t")))
        let reading = try await self.advice(for: vehicle, of: .driver, method: .getTrip, mask: "")
        #expect(reading.reason == .claimMismatch)
        #expect(reading.fixes[.coverage]?.hasPrefix("Pass --trip-vehicle") == true)
        let ordering = try await self.advice(for: trip, of: .server, method: .updateTrip, mask: "vehicle_waypoints")
        #expect(ordering.reason == .claimMismatch)
        #expect(ordering.fixes[.coverage]?.hasPrefix("The claims are enough while") == true)
    }

    @Test func `a trip's vehicle is not asked for where the role is refused anyway`() async throws {
        for claims in [
            try AuthorizationClaims(vehicle: .only(VehicleID(checking: "veh-3"))),
            try AuthorizationClaims(trip: .only(TripID(checking: "t"))),
        ] {
            let advice = try await self.advice(
                for: claims, of: .driver, method: .updateTrip, mask: "vehicle_waypoints")
            #expect(advice.reason == .roleLacksPermission)
            #expect(advice.fixes.isEmpty)
        }
    }
}

@Suite struct MintCommandTests {
    private func warnings(_ file: String, _ role: String, _ ids: [String]) throws -> [String] {
        let command = try MintCommand.parse(["--key", "keys/\(file)", "--role", role] + ids)
        let claims = try TokenIDs.parse(ids).claims(for: Role(rawValue: role))
        return command.warnings(
            of: TokenClaims(account: "a@acme", issuedAt: 0, expiresAt: 3600, authorization: claims))
    }

    @Test func `a role and claims that fit the key file give no warning`() throws {
        #expect(try self.warnings("driver.json", "driver", ["--vehicle", "v"]) == [])
        #expect(try self.warnings("driver.1767225600.json", "driver", ["--vehicle", "v"]) == [])
        #expect(try self.warnings("account.json", "server", []) == [])
        #expect(try self.warnings("delivery_server.json", "delivery_server", ["--batch-task", "a"]) == [])
    }

    @Test func `another role than the key file's, and a claim that opens nothing, are told`() throws {
        let other = try self.warnings("driver.json", "server", [])
        #expect(other.count == 2)
        #expect(other[0].contains("of the role driver") && other[0].contains("server was asked for"))
        #expect(other[1].hasPrefix("wildcard-in-device-token: "))
        let idle = try self.warnings("driver.json", "driver", ["--vehicle", "v", "--tracking", "t"])
        #expect(idle.map { $0.prefix { $0 != ":" } } == ["claim-that-opens-nothing"])
        #expect(try self.warnings("account.json", "delivery_admin", ["--task", "t"]).count == 1)
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokens
import Foundation
import Testing

@testable import GoogleCredentials

@Suite struct ExecutableSubjectTests {
    /// Plays a program, and remembers how it was run.
    final class Program: ExecutableRunner {
        struct Run: Sendable {
            let command: [String]
            let variables: [String: String]
            let limit: Duration
        }

        let runs = Locked<[Run]>([])
        let output: JSONObject

        init(_ output: JSONObject) { self.output = output }

        func run(_ command: [String], variables: [String: String], limit: Duration) async throws -> [UInt8] {
            self.runs.withLock { $0.append(Run(command: command, variables: variables, limit: limit)) }
            return JSONValue.object(self.output).serialized
        }
    }

    private static let answer: JSONObject = [
        "version": .integer(1), "success": .bool(true), "token_type": "urn:ietf:params:oauth:token-type:jwt",
        "id_token": "MARKED-subject", "expiration_time": .integer(1_767_225_700),
    ]
    private static let allowed = ["GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES": "1", "PATH": "/bin"]

    private func world(_ program: Program, variables: [String: String] = Self.allowed) -> World {
        var world = World()
        world.executables = program
        world.variables = variables
        return world
    }

    private func file(_ executable: JSONObject = [:]) -> JSONObject {
        var executable = executable
        if executable["command"] == nil { executable["command"] = "/opt/token --for fleet" }
        return Files.external(["executable": .object(executable)])
    }

    @Test func `the program gets its rules from the environment, and its token is exchanged`() async throws {
        let program = Program(Self.answer)
        let world = self.world(program)
        let file = self.file(["timeout_millis": .integer(5000), "output_file": "/out.json"])
        _ = try await world.load(file).accessToken(scopes: ["a"])
        #expect(world.network.requests.last?.form["subject_token"] == "MARKED-subject")
        let run = try #require(program.runs.withLock { $0 }.first)
        #expect(run.command == ["/opt/token", "--for", "fleet"])
        #expect(run.limit == .seconds(5))
        #expect(run.variables["GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE"] == Files.audience)
        #expect(run.variables["GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE"] == "urn:ietf:params:oauth:token-type:jwt")
        #expect(run.variables["GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE"] == "0")
        #expect(run.variables["GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE"] == "/out.json")
        #expect(run.variables["PATH"] == "/bin")
    }

    @Test(arguments: [nil, "", "0", "true"])
    func `no program runs unless the environment says exactly 1`(value: String?) async throws {
        let program = Program(Self.answer)
        let world = self.world(
            program, variables: value.map { ["GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES": $0] } ?? [:])
        let credential = try await world.load(self.file())
        let error = await #expect(throws: CredentialError.self) { try await credential.accessToken(scopes: ["a"]) }
        #expect(error?.code == .executableNotAllowed)
        #expect(program.runs.withLock { $0.count } == 0)
    }

    @Test func `an output file that holds a token which lasts saves the run`() async throws {
        for (expiry, runs) in [(1_767_225_601, 0), (1_767_225_600, 1)] as [(Int64, Int)] {
            let program = Program(Self.answer)
            var world = self.world(program)
            var kept = Self.answer
            kept["expiration_time"] = .integer(expiry)
            world.files = ["/out.json": JSONValue.object(kept).serialized]
            _ = try await world.load(self.file(["output_file": "/out.json"])).accessToken(scopes: ["a"])
            #expect(program.runs.withLock { $0.count } == runs)
        }
    }

    @Test(
        arguments: [
            ("version", JSONValue.integer(2), nil), ("success", .bool(false), nil), ("token_type", "other", nil),
            ("id_token", "", nil), ("expiration_time", .integer(1_767_225_600), nil),
            ("expiration_time", .null, "/out.json"),
        ] as [(String, JSONValue, JSONValue?)])
    func `an answer that breaks a rule gives no token`(field: String, value: JSONValue, output: JSONValue?) async throws
    {
        var answer = Self.answer
        answer[field] = value
        let world = self.world(Program(answer))
        let credential = try await world.load(self.file(output.map { ["output_file": $0] } ?? [:]))
        await #expect(throws: CredentialError.self) { try await credential.accessToken(scopes: ["a"]) }
        #expect(world.network.requests.isEmpty)
    }

    @Test(arguments: [
        ("command", JSONValue.string("token")), ("command", ""), ("timeout_millis", .integer(4999)),
        ("timeout_millis", .integer(120_001)),
    ])
    func `a file that breaks a rule is refused`(field: String, value: JSONValue) async {
        let error = await #expect(throws: CredentialError.self) {
            try await World().load(self.file(JSONObject([field: value])))
        }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test(arguments: [false, true])
    func `a program may take as long as its file says, however short requests must be`(
        impersonates: Bool
    ) async throws {
        struct Slow: ExecutableRunner {
            let clock: ManualClock

            func run(_ command: [String], variables: [String: String], limit: Duration) async throws -> [UInt8] {
                try await self.clock.sleep(for: limit - .seconds(1))
                var answer = ExecutableSubjectTests.answer
                answer["expiration_time"] = .integer(1_767_229_200)
                return JSONValue.object(answer).serialized
            }
        }
        var world = World()
        world.variables = Self.allowed
        world.executables = Slow(clock: world.clock)
        var file = self.file(["timeout_millis": .integer(120_000)])
        if impersonates { file["service_account_impersonation_url"] = .string(Files.impersonationURL) }
        let credential = try await world.load(file)
        async let token = credential.accessToken(scopes: ["a"])
        // The program, and the limit of each exchange that waits for it.
        await world.clock.waitForSleepers(impersonates ? 3 : 2)
        world.clock.advance(by: .seconds(119))
        _ = try await token
        #expect(world.network.requests.count == (impersonates ? 2 : 1))
    }

    @Test func `real programs run, fail, and are killed when they take too long`() async throws {
        let runner = ProcessRunner()
        let output = try await runner.run(["/bin/echo", "a", "b"], variables: [:], limit: .seconds(20))
        #expect(String(decoding: output, as: UTF8.self) == "a b\n")
        let failed = await #expect(throws: CredentialError.self) {
            try await runner.run(["/bin/false"], variables: [:], limit: .seconds(20))
        }
        #expect(failed?.code == .unavailable)
        let absent = await #expect(throws: CredentialError.self) {
            try await runner.run(["/no/such/program"], variables: [:], limit: .seconds(20))
        }
        #expect(absent?.code == .unavailable)
        let slow = await #expect(throws: CredentialError.self) {
            try await runner.run(["/bin/sleep", "60"], variables: [:], limit: .seconds(1))
        }
        #expect(slow?.code == .timedOut)
    }
}

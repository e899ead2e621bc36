// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
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
        let result: ExecutableResult

        init(_ output: JSONObject, status: Int32 = 0) {
            self.result = ExecutableResult(status: status, output: JSONValue.object(output).serialized)
        }

        init(_ result: ExecutableResult) { self.result = result }

        func run(
            _ command: [String], variables: [String: String], limit: Duration
        ) async throws -> ExecutableResult {
            self.runs.withLock { $0.append(Run(command: command, variables: variables, limit: limit)) }
            return self.result
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
        #expect(run.variables["GOOGLE_EXTERNAL_ACCOUNT_ID"] == "")
        #expect(run.variables["GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE"] == "0")
        #expect(run.variables["GOOGLE_EXTERNAL_ACCOUNT_REVOKE"] == "0")
        #expect(run.variables["GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE"] == "/out.json")
        #expect(run.variables["PATH"] == "/bin")
    }

    @Test func `the program hears which account is impersonated`() async throws {
        let program = Program(Self.answer)
        var file = self.file()
        file["service_account_impersonation_url"] = .string(Files.impersonationURL)
        _ = try await self.world(program).load(file).accessToken(scopes: ["a"])
        let run = try #require(program.runs.withLock { $0 }.first)
        #expect(run.variables["GOOGLE_EXTERNAL_ACCOUNT_ID"] == Google.account)
        #expect(run.variables["GOOGLE_EXTERNAL_ACCOUNT_IMPERSONATED_EMAIL"] == Google.account)
    }

    // What Python's shlex.split makes of them, which google-auth calls.
    @Test(
        arguments: [
            (" /opt/token\t'a b' \"c d\"\r\n", ["/opt/token", "a b", "c d"]),
            (#"/opt/a\ b "say \"x\" \n \\" 'as\is' "#, ["/opt/a b", #"say "x" \n \"#, #"as\is"#]),
            (#"/opt/token '' x"y"'z' a#b"#, ["/opt/token", "", "xyz", "a#b"]),
        ] as [(String, [String])])
    func `a command is split as a shell splits it`(command: String, words: [String]) async throws {
        let program = Program(Self.answer)
        let credential = try await self.world(program).load(self.file(["command": .string(command)]))
        _ = try await credential.accessToken(scopes: ["a"])
        #expect(program.runs.withLock { $0.map(\.command) } == [words])
    }

    @Test(arguments: [("id_token", "id_token"), ("saml2", "saml_response")])
    func `a program's token may be of another type than the file's, which is the one that is sent`(
        type: String, field: String
    ) async throws {
        var answer = Self.answer
        answer["token_type"] = .string("urn:ietf:params:oauth:token-type:\(type)")
        answer["id_token"] = nil
        answer[field] = "MARKED-subject"
        let world = self.world(Program(answer))
        _ = try await world.load(self.file()).accessToken(scopes: ["a"])
        let form = try #require(world.network.requests.last).form
        #expect(form["subject_token"] == "MARKED-subject")
        #expect(form["subject_token_type"] == "urn:ietf:params:oauth:token-type:jwt")
    }

    @Test(arguments: [0, 1] as [Int32])
    func `a program that says no is asked once, and its code is told and nothing else`(status: Int32) async throws {
        let program = Program(
            [
                "version": .integer(1), "success": .bool(false), "code": "401", "message": "MARKED-subject is bad",
            ], status: status)
        var world = self.world(program)
        world.retries = RetryPolicy(attempts: 3)
        let credential = try await world.load(self.file())
        let error = await #expect(throws: CredentialError.self) { try await credential.accessToken(scopes: ["a"]) }
        #expect(error?.code == .refused)
        #expect(error?.reason == "401")
        #expect(error?.message.contains("(401)") == true)
        #expect(error?.description.contains("MARKED") == false)
        #expect(program.runs.withLock { $0.count } == 1)
    }

    @Test(
        arguments: [
            (0, "MARKED-subject"), (0, ""), (3, "MARKED-subject"), (3, ""), (0, #"{"version":1}"#),
            (3, String(decoding: JSONValue.object(Self.answer).serialized, as: UTF8.self)),
        ] as [(Int32, String)])
    func `a program that breaks the rules is run once, and what it printed is not told`(
        status: Int32, output: String
    ) async throws {
        let program = Program(ExecutableResult(status: status, output: Array(output.utf8)))
        var world = self.world(program)
        world.retries = RetryPolicy(attempts: 3)
        let credential = try await world.load(self.file())
        let error = await #expect(throws: CredentialError.self) { try await credential.accessToken(scopes: ["a"]) }
        #expect(error?.isTransient == false)
        #expect(error?.description.contains("MARKED") == false)
        #expect(error?.message.contains("status 3") == (status == 3))
        #expect(program.runs.withLock { $0.count } == 1)
        #expect(world.network.requests.isEmpty)
    }

    @Test func `a program that prints nothing has written its answer into the output file`() async throws {
        struct Writer: ExecutableRunner {
            let file: Locked<[UInt8]?>

            func run(
                _ command: [String], variables: [String: String], limit: Duration
            ) async throws -> ExecutableResult {
                self.file.withLock { $0 = JSONValue.object(ExecutableSubjectTests.answer).serialized }
                return ExecutableResult(output: [])
            }
        }
        let written = Locked<[UInt8]?>(nil)
        let world = World()
        var context = world.context
        context.variables = Self.allowed
        context.executables = Writer(file: written)
        context.readFile = { $0 == "/out.json" ? written.withLock { $0 } : nil }
        let file = JSONValue.object(self.file(["output_file": "/out.json"])).serialized
        let credential = try await ApplicationDefaultCredentials(context: context, explicit: .json(file)).load()
        _ = try await credential.accessToken(scopes: ["a"])
        #expect(world.network.requests.last?.form["subject_token"] == "MARKED-subject")
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

    @Test(arguments: [
        ["expiration_time": JSONValue.integer(1_767_225_600), "token_type": .null],
        ["expiration_time": .integer(1_767_225_600), "id_token": ""], ["version": .integer(2)],
        ["token_type": "other"], ["expiration_time": .double(1_767_225_599.5)], ["expiration_time": .null],
    ])
    func `an output file of an earlier run or another program keeps no program from running`(
        change: [String: JSONValue]
    ) async throws {
        let program = Program(Self.answer)
        var world = self.world(program)
        var kept = Self.answer
        for (field, value) in change { kept[field] = value == .null ? nil : value }
        world.files = ["/out.json": JSONValue.object(kept).serialized]
        _ = try await world.load(self.file(["output_file": "/out.json"])).accessToken(scopes: ["a"])
        #expect(program.runs.withLock { $0.count } == 1)
    }

    @Test func `an output file that lasts and breaks the format is told`() async throws {
        for field in ["token_type", "id_token"] {
            let program = Program(Self.answer)
            var world = self.world(program)
            var kept = Self.answer
            kept[field] = nil
            world.files = ["/out.json": JSONValue.object(kept).serialized]
            let credential = try await world.load(self.file(["output_file": "/out.json"]))
            let error = await #expect(throws: CredentialError.self) { try await credential.accessToken(scopes: ["a"]) }
            #expect(error?.code == .invalidConfiguration)
            #expect(program.runs.withLock { $0.isEmpty })
        }
    }

    @Test(arguments: [nil, "/out.json"])
    func `a token may end at a part of a second`(output: String?) async throws {
        var answer = Self.answer
        answer["expiration_time"] = .double(1_767_225_700.25)
        let file = self.file(output.map { ["output_file": .string($0)] } ?? [:])
        let program = Program(answer)
        var world = self.world(program)
        _ = try await world.load(file).accessToken(scopes: ["a"])
        #expect(program.runs.withLock { $0.count } == 1)
        guard let output else { return }
        world.files = [output: JSONValue.object(answer).serialized]
        _ = try await world.load(file).accessToken(scopes: ["a"])
        #expect(program.runs.withLock { $0.count } == 1)
    }

    @Test(
        arguments: [
            ("expiration_time", .string("1767225700"), nil), ("expiration_time", .double(1_767_225_599.5), nil),
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
        ("command", JSONValue.string("token")), ("command", ""), ("command", "/opt/token 'a"),
        ("command", #"/opt/token "a\""#), ("command", #"/opt/token a\"#), ("timeout_millis", .integer(4999)),
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

            func run(
                _ command: [String], variables: [String: String], limit: Duration
            ) async throws -> ExecutableResult {
                try await self.clock.sleep(for: limit - .seconds(1))
                var answer = ExecutableSubjectTests.answer
                answer["expiration_time"] = .integer(1_767_229_200)
                return ExecutableResult(output: JSONValue.object(answer).serialized)
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

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            (true, 20, "The identity's access token, for which /opt/token is run, was not there within 20.0 seconds."),
            (false, 35, "The subject token, for which /opt/token is run, was not there within 35.0 seconds."),
        ] as [(Bool, Int, String)])
    func `where a program holds up everything, no service is said not to have answered`(
        signs: Bool, seconds: Int, message: String
    ) async throws {
        struct Hanging: ExecutableRunner {
            let clock: ManualClock

            func run(
                _ command: [String], variables: [String: String], limit: Duration
            ) async throws -> ExecutableResult {
                try await self.clock.sleep(for: .seconds(3600))
                return ExecutableResult(output: [])
            }
        }
        var world = World()
        world.variables = Self.allowed
        world.executables = Hanging(clock: world.clock)
        let credential = try await world.load(self.file(["timeout_millis": .integer(5000)]))
        let signer = try await credential.signer(impersonating: Google.account)
        let asking = Task {
            if signs {
                _ = try await signer.sign(payload: Array("{}".utf8))
            } else {
                _ = try await credential.accessToken(scopes: ["a"])
            }
        }
        // The program, and the limit of each exchange that waits for it.
        await world.clock.waitForSleepers(signs ? 3 : 2)
        world.clock.advance(by: .seconds(seconds))
        let error = await #expect(throws: (any Error).self) { try await asking.value }
        let failed = error as? SigningError
        #expect((failed != nil) == signs)
        #expect(failed?.message.contains("IAM credentials service") != true)
        let late = (failed?.cause ?? error) as? CredentialError
        #expect(late?.code == .timedOut)
        #expect(late?.message == message)
        #expect(world.network.requests.isEmpty)
    }
}

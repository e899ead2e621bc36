// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import Foundation
import Testing

@testable import GoogleCredentials

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite(.timeLimit(.minutes(1))) struct ProcessRunnerTests {
    /// A named pipe that a program and what it starts hold open, so that a test sees them begin and end.
    private struct Lifeline: Sendable {
        let path: String
        private let end: Int32

        init() throws {
            let path = FileManager.default.temporaryDirectory.appendingPathComponent("lifeline-\(UUID())").path
            let made = mkfifo(path, 0o600)
            try #require(made == 0)
            let end = open(path, O_RDONLY | O_NONBLOCK)
            try #require(end >= 0)
            self.path = path
            self.end = end
        }

        /// The variable under which a program finds the pipe.
        var variables: [String: String] { ["LIFELINE": self.path] }

        /// Waits for the number of the process that a program writes first.
        func process() async throws -> pid_t {
            var text = ""
            while text.last != "\n" {
                var byte: UInt8 = 0
                if read(self.end, &byte, 1) > 0 {
                    text.unicodeScalars.append(Unicode.Scalar(byte))
                } else {
                    try Task.checkCancellation()
                    await Task.yield()
                }
            }
            return try #require(pid_t(text.dropLast()))
        }

        /// Waits until no process holds the pipe any more, and removes it.
        func ended() async throws {
            var byte: UInt8 = 0
            while read(self.end, &byte, 1) != 0 {
                try Task.checkCancellation()
                await Task.yield()
            }
            close(self.end)
            unlink(self.path)
        }
    }

    /// A shell that waits for another program, as wrappers do.
    private static let wrapper = ["/bin/sh", "-c", #"exec 3>"$LIFELINE"; echo $$ >&3; sleep 600; true"#]

    /// How many ends of pipes this process has open, where the system tells.
    private static var openPipes: Int {
        let folder = "/proc/self/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let targets = names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)") }
        return targets.filter { $0.hasPrefix("pipe:") }.count
    }

    /// Whether a process is there, be it only as a status that nobody has taken.
    private static func exists(_ process: pid_t) -> Bool {
        kill(process, 0) == 0 || errno != ESRCH
    }

    @Test func `real programs run, fail, and are killed when they take too long`() async throws {
        let runner = ProcessRunner()
        for (script, status) in [("echo a b", 0), ("echo a b; exit 3", 3), ("echo a b; kill -9 $$", 9)]
            as [(String, Int32)]
        {
            let result = try await runner.run(["/bin/sh", "-c", script], variables: [:], limit: .seconds(20))
            #expect(String(decoding: result.output, as: UTF8.self) == "a b\n")
            #expect(result.status == status)
        }
        let absent = await #expect(throws: CredentialError.self) {
            try await runner.run(["/no/such/program"], variables: [:], limit: .seconds(20))
        }
        #expect(absent?.code == .unavailable)
        let unnamed = await #expect(throws: CredentialError.self) {
            try await runner.run([], variables: [:], limit: .seconds(20))
        }
        #expect(unnamed?.code == .invalidConfiguration)
        let slow = await #expect(throws: CredentialError.self) {
            try await runner.run(["/bin/sleep", "60"], variables: [:], limit: .seconds(1))
        }
        #expect(slow?.code == .timedOut)
    }

    @Test func `a program gets its variables, an empty input and no descriptor of this process`() async throws {
        let held = open("/dev/null", O_RDONLY)
        defer { close(held) }
        let script = #"cat; echo lost >&2; echo "$WORD"; if [ -e /dev/fd/$HELD ]; then echo held; fi"#
        let result = try await ProcessRunner().run(
            ["/bin/sh", "-c", script], variables: ["WORD": "a = b", "HELD": "\(held)"], limit: .seconds(20))
        #expect(String(decoding: result.output, as: UTF8.self) == "a = b\n")
    }

    @Test func `output that fills the pipe is read to its end`() async throws {
        let result = try await ProcessRunner().run(
            ["/bin/sh", "-c", "head -c 500000 /dev/zero"], variables: [:], limit: .seconds(20))
        #expect(result.output == [UInt8](repeating: 0, count: 500_000))
    }

    @Test func `programs that take too long are killed with what they started, and nothing of them stays`() async throws
    {
        let clock = ManualClock()
        let runner = ProcessRunner(clock: clock)
        let before = Self.openPipes
        for _ in 0..<20 {
            let lifeline = try Lifeline()
            let run = Task { try await runner.run(Self.wrapper, variables: lifeline.variables, limit: .seconds(5)) }
            let process = try await lifeline.process()
            await clock.waitForSleepers(1)
            clock.advance(by: .seconds(5))
            let error = await #expect(throws: CredentialError.self) { try await run.value }
            #expect(error?.code == .timedOut)
            #expect(!Self.exists(process))
            try await lifeline.ended()
        }
        // Other tests have some open for a while.
        #expect(Self.openPipes < before + 20)
    }

    @Test func `a program that cannot be killed is left to itself until it ends`() async throws {
        let clock = ManualClock()
        let runner = ProcessRunner(clock: clock, ending: { _ in })
        let lifeline = try Lifeline()
        let run = Task { try await runner.run(Self.wrapper, variables: lifeline.variables, limit: .seconds(5)) }
        let process = try await lifeline.process()
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: CredentialError.self) { try await run.value }
        #expect(error?.code == .timedOut)
        #expect(error?.message == "/bin/sh did not end within 5.0 seconds and could not be killed.")
        #expect(Self.exists(process))
        kill(-process, SIGKILL)
        try await lifeline.ended()
        // Its status is taken then, so that nothing of it stays.
        while Self.exists(process) {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    @Test func `a cancelled run kills the program with what it started`() async throws {
        let lifeline = try Lifeline()
        let run = Task {
            try await ProcessRunner().run(Self.wrapper, variables: lifeline.variables, limit: .seconds(600))
        }
        let process = try await lifeline.process()
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
        #expect(!Self.exists(process))
        try await lifeline.ended()
    }

    @Test func `a run that was cancelled before it began ends`() async throws {
        let run = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await ProcessRunner().run(["/bin/sleep", "600"], variables: [:], limit: .seconds(600))
        }
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/setsid"), "needs setsid of util-linux"))
    func `what left the program's group keeps its output and does not hold up the end`() async throws {
        let script = #"exec 3>"$LIFELINE"; setsid sh -c 'echo $$ >&3; exec sleep 600'; true"#
        let lifeline = try Lifeline()
        let run = Task {
            try await ProcessRunner().run(
                ["/bin/sh", "-c", script], variables: lifeline.variables, limit: .seconds(600))
        }
        let process = try await lifeline.process()
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
        #expect(Self.exists(process))
        kill(process, SIGKILL)
        try await lifeline.ended()
    }

    @Test func `a limit holds to the millisecond`() async throws {
        let clock = ManualClock()
        let run = Task {
            try await ProcessRunner(clock: clock).run(
                ["/bin/sleep", "600"], variables: [:], limit: .milliseconds(1900))
        }
        await clock.waitForSleepers(1)
        clock.advance(by: .milliseconds(1899))
        #expect(clock.sleeperCount == 1)
        clock.advance(by: .milliseconds(1))
        let error = await #expect(throws: CredentialError.self) { try await run.value }
        #expect(error?.code == .timedOut)
        #expect(error?.message == "/bin/sleep did not end within 1.9 seconds and was killed.")
    }
}

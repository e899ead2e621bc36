// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning

/// How a program ended, and what it printed.
///
/// It may carry a token: printing it shows status and size only.
public struct ExecutableResult: Sendable {
    /// The status that it ended with; 0 says that all went well.
    public var status: Int32
    /// What it wrote on its standard output.
    public var output: [UInt8]

    /// Makes a result.
    public init(status: Int32 = 0, output: [UInt8]) {
        self.status = status
        self.output = output
    }
}

extension ExecutableResult: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Status and size.
    public var description: String { "\(self.status), \(self.output.count) bytes" }
    /// The same as ``description``.
    public var debugDescription: String { self.description }
    /// A mirror that shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["result": self.description]) }
}

/// Runs programs that print a subject token, for external accounts that need one.
public protocol ExecutableRunner: Sendable {
    /// Runs a program to its end.
    ///
    /// - Parameters:
    ///   - command: The program's absolute path and its arguments.
    ///   - variables: The whole environment of the program.
    ///   - limit: How long it may run; it is ended after that.
    /// - Returns: How it ended, with whatever status, and what it wrote on its standard output.
    /// - Throws: ``CredentialError`` with ``CredentialError/Code/unavailable`` or ``CredentialError/Code/timedOut``;
    ///   `CancellationError`, and the program should be ended then.
    func run(_ command: [String], variables: [String: String], limit: Duration) async throws -> ExecutableResult
}

/// Runs programs as child processes, each in a process group of its own.
///
/// Their standard input is empty, and what they write as errors is thrown away. A program that is killed takes along
/// what it started. Where it cannot be killed, as with `sudo`, it is left to itself a second later.
///
/// What still runs is killed when this process ends by `exit` or at the end of `main`, and not when a signal ends it.
public struct ProcessRunner: ExecutableRunner {
    private struct TookTooLong: Error {}

    private static let maximumOutputBytes = 1 << 20

    private let time: TimeSource
    private let ending: ChildProcess.Ending

    /// Makes a runner.
    public init() {
        self.init(clock: ContinuousClock())
    }

    init(clock: some Clock<Duration>, ending: @escaping ChildProcess.Ending = ChildProcess.end) {
        self.time = TimeSource(clock: clock)
        self.ending = ending
    }

    /// Runs a program to its end; a cancelled task kills it.
    ///
    /// - Parameters:
    ///   - command: The program's absolute path and its arguments.
    ///   - variables: The whole environment of the program.
    ///   - limit: How long it may run; it is killed after that.
    /// - Returns: How it ended, with whatever status, and what it wrote on its standard output.
    /// - Throws: ``CredentialError`` with ``CredentialError/Code/unavailable``, ``CredentialError/Code/timedOut`` or,
    ///   for an empty command, ``CredentialError/Code/invalidConfiguration``; `CancellationError`.
    public func run(
        _ command: [String], variables: [String: String], limit: Duration
    ) async throws -> ExecutableResult {
        guard let program = command.first else {
            throw CredentialError(code: .invalidConfiguration, message: "The executable's command is empty.")
        }
        let process = ChildProcess(program: program, command: command, variables: variables, ending: self.ending)
        do {
            return try await self.time.withLimit(limit, orThrow: TookTooLong()) {
                guard let result = try await process.run(maximumBytes: Self.maximumOutputBytes) else {
                    throw CredentialError(code: .unavailable, message: "\(program) could not be started.")
                }
                return result
            }
        } catch is TookTooLong {
            let fate = process.isLeft ? "could not be killed" : "was killed"
            throw CredentialError(code: .timedOut, message: "\(program) did not end within \(limit) and \(fate).")
        }
    }
}

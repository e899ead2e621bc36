// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FleetTokens
import Foundation

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
    /// - Throws: ``CredentialError`` with ``CredentialError/Code/unavailable`` or ``CredentialError/Code/timedOut``.
    func run(_ command: [String], variables: [String: String], limit: Duration) async throws -> ExecutableResult
}

/// Runs programs as child processes.
public struct ProcessRunner: ExecutableRunner {
    private static let maximumOutputBytes = 1 << 20

    /// Makes a runner.
    public init() {}

    /// Runs a program to its end.
    ///
    /// - Parameters:
    ///   - command: The program's absolute path and its arguments.
    ///   - variables: The whole environment of the program.
    ///   - limit: How long it may run; it is killed after that.
    /// - Returns: How it ended, with whatever status, and what it wrote on its standard output.
    /// - Throws: ``CredentialError`` with ``CredentialError/Code/unavailable`` or ``CredentialError/Code/timedOut``.
    public func run(
        _ command: [String], variables: [String: String], limit: Duration
    ) async throws -> ExecutableResult {
        guard let program = command.first else {
            throw CredentialError(code: .invalidConfiguration, message: "The executable's command is empty.")
        }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = Array(command.dropFirst())
        process.environment = variables
        process.standardInput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let pipe = Pipe()
        process.standardOutput = pipe
        return try await withCheckedThrowingContinuation { continuation in
            let once = Once(continuation)
            do {
                try process.run()
            } catch {
                once.finish(.failure(CredentialError(code: .unavailable, message: "\(program) could not be started.")))
                return
            }
            DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Int(limit.components.seconds))) {
                let timeout = CredentialError(
                    code: .timedOut, message: "\(program) did not end within \(limit) and was killed.")
                if once.finish(.failure(timeout)) { kill(process.processIdentifier, SIGKILL) }
            }
            // A thread of its own, as both calls block.
            DispatchQueue.global().async {
                let output = (try? pipe.fileHandleForReading.read(upToCount: Self.maximumOutputBytes)) ?? Data()
                process.waitUntilExit()
                once.finish(.success(ExecutableResult(status: process.terminationStatus, output: Array(output))))
            }
        }
    }
}

/// Resumes a continuation the first time only.
private final class Once: Sendable {
    private let continuation: Locked<CheckedContinuation<ExecutableResult, any Error>?>

    init(_ continuation: CheckedContinuation<ExecutableResult, any Error>) {
        self.continuation = Locked(continuation)
    }

    /// Gives the result, and says whether it was the first one.
    @discardableResult
    func finish(_ result: Result<ExecutableResult, any Error>) -> Bool {
        let continuation = self.continuation.withLock { waiting in
            defer { waiting = nil }
            return waiting
        }
        continuation?.resume(with: result)
        return continuation != nil
    }
}

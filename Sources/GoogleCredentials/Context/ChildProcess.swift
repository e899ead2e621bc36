// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A program that runs once, on a thread of its own, which ends with it.
///
/// It leads a process group, so that what it started is killed with it, also when this process ends by `exit`. It
/// inherits no descriptor but its output; its input is empty, and what it writes as errors is thrown away.
final class ChildProcess: Sendable {
    /// Kills a process and its group, as far as it can.
    typealias Ending = @Sendable (pid_t) -> Void

    private struct State: Sendable {
        /// The process, as long as its status has not been taken and the id can be no other's.
        var id: pid_t?
        var isStopped = false
        var isLeft = false
    }

    /// The processes of all programs that run.
    private struct Living: Sendable {
        /// Those whose status has not been taken, so that the ids can be no others'.
        var ids: Set<pid_t> = []
        /// Whether this process ends, and nothing may start any more.
        var isOver = false
    }

    /// Held while a program starts, so that none inherits the pipe of another, and none is missed when all are killed.
    private static let living: Locked<Living> = {
        atexit { ChildProcess.endAll() }
        return Locked(Living())
    }()
    /// How long a thread waits for output before it looks whether it is to stop, in milliseconds.
    private static let patience: Int32 = 50
    /// How long a thread waits before it looks again whether the process has ended, in seconds.
    private static let pause = 0.005
    /// How often it looks once the process was killed, which makes a second or a little more.
    private static let lastLooks = 200

    private let program: String
    private let command: [String]
    private let variables: [String: String]
    private let ending: Ending
    private let state = Locked(State())

    /// Prepares a program.
    ///
    /// - Parameters:
    ///   - program: Its path.
    ///   - command: What it is called and its arguments.
    ///   - variables: Its whole environment.
    ///   - ending: How it is killed.
    init(program: String, command: [String], variables: [String: String], ending: @escaping Ending) {
        self.program = program
        self.command = command
        self.variables = variables
        self.ending = ending
    }

    /// Whether it was killed and did not end, as a program that another user runs; it was left to itself then.
    var isLeft: Bool { self.state.withLock { $0.isLeft } }

    /// Runs the program until it and its output have ended; a cancelled task kills it with what it started.
    ///
    /// A program that cannot be killed is waited for a second more and not longer.
    ///
    /// - Parameter maximumBytes: How much of its output is read.
    /// - Returns: How it ended, or `nil` where it could not be started. The status is the signal's number where one
    ///   ended it.
    /// - Throws: `CancellationError`, once the program has ended or is left to itself.
    func run(maximumBytes: Int) async throws -> ExecutableResult? {
        let result: ExecutableResult? = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                Thread.detachNewThread { continuation.resume(returning: self.result(maximumBytes)) }
            }
        } onCancel: {
            self.stop()
        }
        try Task.checkCancellation()
        return result
    }

    private func result(_ maximumBytes: Int) -> ExecutableResult? {
        let started: (id: pid_t, output: Int32)? = Self.living.withLock { living in
            guard !living.isOver, let child = self.start() else { return nil }
            living.ids.insert(child.id)
            return child
        }
        guard let (id, output) = started else { return nil }
        defer { close(output) }
        self.state.withLock { state in
            state.id = id
            if state.isStopped { self.ending(id) }
        }
        let bytes = self.bytes(from: output, upTo: maximumBytes)
        return self.status(of: id).map { ExecutableResult(status: $0, output: bytes) }
    }

    /// Ends the process and the reading, whoever else holds the other end of the pipe.
    private func stop() {
        self.state.withLock { state in
            state.isStopped = true
            if let id = state.id { self.ending(id) }
        }
    }

    /// Kills a process and its group, which it may have left.
    @Sendable static func end(_ id: pid_t) {
        kill(-id, SIGKILL)
        kill(id, SIGKILL)
    }

    /// Kills whatever runs, as this process ends; nothing is started any more.
    ///
    /// - Parameter end: What is done before anybody is told how the programs ended.
    fileprivate static func endAll(andThen end: () -> Void = {}) {
        Self.living.withLock { living in
            living.isOver = true
            for id in living.ids { Self.end(id) }
            end()
        }
    }

    private func bytes(from output: Int32, upTo maximum: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while bytes.count < maximum, !self.state.withLock({ $0.isStopped }) {
            var pending = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            guard poll(&pending, 1, Self.patience) > 0 else { continue }
            let room = min(buffer.count, maximum - bytes.count)
            let count = read(output, &buffer, room)
            if count > 0 {
                bytes += buffer[..<count]
            } else if count == 0 || errno != EINTR {
                break
            }
        }
        return bytes
    }

    /// Waits until the process has ended, and takes its status so that nothing of it stays.
    ///
    /// - Returns: The status, or `nil` where the process was killed and did not end.
    private func status(of id: pid_t) -> Int32? {
        var looks = Self.lastLooks
        while looks > 0 {
            if let taken = self.takeStatus(of: id) {
                let signal = taken & 0x7F
                return signal == 0 ? (taken >> 8) & 0xFF : signal
            }
            if self.state.withLock({ $0.isStopped }) { looks -= 1 }
            Thread.sleep(forTimeInterval: Self.pause)
        }
        self.leave(id)
        return nil
    }

    /// Takes the status of the process, where it has ended; both locks are held, as the id may be another's after it.
    private func takeStatus(of id: pid_t) -> Int32? {
        Self.living.withLock { living -> Int32? in
            self.state.withLock { state -> Int32? in
                var status: Int32 = 0
                guard waitpid(id, &status, WNOHANG) != 0 else { return nil }
                state.id = nil
                living.ids.remove(id)
                return status
            }
        }
    }

    /// Leaves the process to a thread that takes its status, whenever it ends, and holds nothing else.
    private func leave(_ id: pid_t) {
        Self.living.withLock { _ = $0.ids.remove(id) }
        self.state.withLock { state in
            state.id = nil
            state.isLeft = true
        }
        Thread.detachNewThread {
            var status: Int32 = 0
            while waitpid(id, &status, 0) == -1, errno == EINTR {}
        }
    }

    // MARK: - Start

    /// Starts the process.
    ///
    /// - Returns: Its id, and the end of the pipe that its output comes from.
    private func start() -> (id: pid_t, output: Int32)? {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        let (output, input) = (ends[0], ends[1])
        defer { close(input) }
        for end in [output, input] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        guard let id = self.spawn(writingTo: input) else {
            close(output)
            return nil
        }
        return (id, output)
    }

    private func spawn(writingTo input: Int32) -> pid_t? {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
            var attributes: posix_spawnattr_t?
        #else
            var actions = posix_spawn_file_actions_t()
            var attributes = posix_spawnattr_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }

        // The pipe first, as it may have one of the other two's numbers.
        posix_spawn_file_actions_adddup2(&actions, input, STDOUT_FILENO)
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        #if canImport(Darwin)
            let closing = POSIX_SPAWN_CLOEXEC_DEFAULT
        #else
            let closing: Int32 = 0
            for descriptor in Self.openDescriptors where descriptor > STDERR_FILENO {
                posix_spawn_file_actions_addclose(&actions, descriptor)
            }
        #endif

        // Signals that are blocked or ignored here would be so in the program.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in Int32(1)...31 where signal != SIGKILL && signal != SIGSTOP { sigaddset(&signals, signal) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | closing
        posix_spawnattr_setflags(&attributes, Int16(flags))

        let arguments: [UnsafeMutablePointer<CChar>?] = self.command.map { strdup($0) } + [nil]
        let environment: [UnsafeMutablePointer<CChar>?] =
            self.variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + environment { free(text) } }
        var id: pid_t = 0
        let code = posix_spawn(&id, self.program, &actions, &attributes, arguments, environment)
        return code == 0 ? id : nil
    }

    #if !canImport(Darwin)
        private static var openDescriptors: [Int32] {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
            return names.compactMap { Int32($0) }
        }
    #endif
}

/// The programs that give credentials and run now.
package enum CredentialPrograms {
    /// Kills them with what they started, and ends this process before anybody takes that for an error of theirs.
    ///
    /// - Parameter end: Ends the process at once: nothing that stands to be done at its end is done.
    package static func endAll(andThen end: () -> Void) { ChildProcess.endAll(andThen: end) }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FleetOperation
import FleetTokens
package import Foundation
package import Logging

/// A few connections to one database, each on a thread of its own; what waits is served in the order of its arrival.
///
/// A connection is made when it is first needed, and again when it broke. Where the server gives no more of them, those
/// that there are do the work. While the server cannot be reached, callers
/// are answered at once with the reason, and attempts to reach it are spaced out. A server that nothing comes from any
/// more counts as such a one as soon as it does not answer a new connection either.
package final class PostgreSQLPool: Sendable {
    /// What a thread does with its session, or with the reason why there is none.
    package typealias Job = @Sendable (Result<PostgreSQLSession, PostgreSQLError>) -> Void

    /// Where the database is.
    package let address: PostgreSQLAddress
    private let shared: Shared

    /// Makes a pool; nothing is connected yet.
    ///
    /// - Parameters:
    ///   - address: Where the database is.
    ///   - connections: How many connections to make at most.
    ///   - limits: How long is waited for what.
    ///   - tables: The tables, which each new connection looks at; pools of one store share them.
    ///   - logger: Hears when the server is lost and found again; of what recurs, every ten seconds at most.
    ///   - now: The clock of the log.
    package init(
        _ address: PostgreSQLAddress, connections: Int, limits: PostgreSQLLimits = PostgreSQLLimits(),
        tables: PostgreSQLTables? = nil, logger: Logger, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.address = address
        self.shared = Shared(address: address, limits: limits, tables: tables, logger: logger, now: now)
        let count = max(1, connections)
        self.shared.state.withLock { $0.threads = count }
        for number in 1...count {
            let thread = Thread { [shared] in shared.work() }
            thread.name = "postgresql-\(number)"
            // Generated code for large messages goes deep in debug builds.
            thread.stackSize = 4 << 20
            thread.start()
        }
    }

    deinit { self.shared.close {} }

    /// Why a job would be refused at once now, as the pool is closed, too much waits, or the server does not answer;
    /// `nil` where the pool would take it.
    package var refusal: PostgreSQLError? { self.shared.refusal }

    /// Has what waits finished and the connections closed, and returns at once; later jobs are refused.
    package func finish() { self.shared.close {} }

    /// Runs a body with a session.
    ///
    /// - Parameter body: Runs on a thread of the pool, and may wait for the server there.
    /// - Returns: What the body returns.
    /// - Throws: ``PostgreSQLError``, or what the body throws.
    package func run<Success: Sendable>(
        _ body: @escaping @Sendable (PostgreSQLSession) throws -> Success
    ) async throws -> Success {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Success, any Error>) in
            self.submit { session in
                continuation.resume(with: Result { try body(session.get()) })
            }
        }
    }

    /// Has a job done by the next thread that is free, and returns at once.
    ///
    /// - Parameter job: The job; it is called exactly once, here and now if the pool cannot take it.
    package func submit(_ job: @escaping Job) {
        switch self.shared.admit(job) {
        case nil: break
        case let error?: job(.failure(error))
        }
    }

    /// Finishes what waits, then closes the connections; later jobs are refused.
    package func close() async {
        await withCheckedContinuation { continuation in
            self.shared.close { continuation.resume() }
        }
    }
}

extension PostgreSQLPool {
    /// What the threads share; it outlives the pool until the last one ended.
    private final class Shared: AnswerListening {
        struct State {
            var waiting: [Job] = []
            var delay = ReconnectDelay()
            var watch = AnswerWatch(at: .now)
            var isClosed = false
            var threads = 0
            /// How many threads have a job.
            var busy = 0
            /// How many threads have a session, or make one.
            var connected = 0
            var whenEnded: [@Sendable () -> Void] = []

            /// Whether the job of a thread that got no session is for others: the server is there, and has let them in, or
            /// may yet.
            func leavesToOthers(after error: PostgreSQLError) -> Bool { error.isAnswered && self.connected > 0 }

            /// Takes the next job out of what waits.
            mutating func take() -> Turn? {
                guard !self.waiting.isEmpty else { return nil }
                self.busy += 1
                // What had waited longer than the doubt was refused when that arose.
                return Turn(
                    job: self.waiting.removeFirst(), isTrial: self.watch.doubt != nil, silences: self.watch.silences)
            }
        }

        /// A job on a thread.
        struct Turn {
            let job: Job
            /// Whether it shows if the doubt about the server is right.
            let isTrial: Bool
            let silences: Int
        }

        /// A session, and how often the server had fallen silent when it was made.
        typealias Held = (session: PostgreSQLSession, silences: Int)

        let address: PostgreSQLAddress
        let limits: PostgreSQLLimits
        let tables: PostgreSQLTables?
        let logger: Logger
        private let shortages: RecurringLog
        private let failures: RecurringLog
        private let silences: RecurringLog
        let state = Locked(State())
        private let arrivals = DispatchSemaphore(value: 0)
        /// Ends the rest of threads that have no session.
        private let closing = DispatchSemaphore(value: 0)

        init(
            address: PostgreSQLAddress, limits: PostgreSQLLimits, tables: PostgreSQLTables?, logger: Logger,
            now: @escaping @Sendable () -> Date
        ) {
            self.address = address
            self.limits = limits
            self.tables = tables
            self.logger = logger
            func log(_ message: Logger.Message, _ level: Logger.Level) -> RecurringLog {
                RecurringLog(message, level: level, logger: logger, now: now)
            }
            self.shortages = log("PostgreSQL gives no more connections", .warning)
            self.failures = log("PostgreSQL cannot be used", .error)
            self.silences = log("PostgreSQL does not answer", .error)
        }

        func admit(_ job: @escaping Job) -> PostgreSQLError? {
            let error: PostgreSQLError? = self.state.withLock { state in
                if let error = self.refusal(in: state) { return error }
                state.watch.admitted()
                state.waiting.append(job)
                return nil
            }
            if error == nil { self.arrivals.signal() }
            return error
        }

        var refusal: PostgreSQLError? { self.state.withLock { self.refusal(in: $0) } }

        private func refusal(in state: State) -> PostgreSQLError? {
            if state.isClosed {
                return PostgreSQLError(code: .closed, message: "The connection to \(self.address) was closed.")
            }
            // One job at a time may try whether the server is back, on a thread that does not wait for it already.
            if let doubt = state.watch.doubt, state.watch.isTrying || state.busy >= state.threads { return doubt }
            if state.waiting.count >= self.limits.waiting {
                return PostgreSQLError(
                    code: .overloaded, message: "Too much waits for \(self.address); retry in a second.")
            }
            return nil
        }

        func close(_ whenEnded: @escaping @Sendable () -> Void) {
            let threads = self.state.withLock { state in
                state.isClosed = true
                if state.threads > 0 { state.whenEnded.append(whenEnded) }
                return state.threads
            }
            guard threads > 0 else { return whenEnded() }
            for _ in 0..<threads {
                self.arrivals.signal()
                self.closing.signal()
            }
        }

        func work() {
            var held: Held? {
                didSet { if oldValue != nil, held == nil { self.state.withLock { $0.connected -= 1 } } }
            }
            // How long the server is not asked again for a connection more than others have.
            var rest = ReconnectDelay()
            while true {
                self.arrivals.wait()
                let (turn, isClosed) = self.state.withLock { ($0.take(), $0.isClosed) }
                guard let turn else {
                    if isClosed { break }
                    // The job that this was the sign of was refused meanwhile.
                    continue
                }
                if let known = held, known.silences != turn.silences || !known.session.isUsable { held = nil }
                do throws(PostgreSQLError) {
                    let usable: Held
                    if let held { usable = held } else { usable = try self.connect() }
                    held = usable
                    rest.succeeded()
                    turn.job(.success(usable.session))
                    // Its locks end with it.
                    if usable.session.isBroken { held = nil }
                    self.end(turn)
                } catch {
                    if self.leave(turn, toOthersAfter: error) {
                        rest.failed(error, at: .now, chance: .random(in: 0...1))
                        _ = self.closing.wait(
                            timeout: .now() + .milliseconds(Int(rest.left(at: .now).milliseconds)))
                    } else {
                        self.end(turn)
                        turn.job(.failure(error))
                    }
                }
            }
            held = nil
            let ended = self.state.withLock { state in
                state.threads -= 1
                return state.threads == 0 ? state.whenEnded : []
            }
            for tell in ended { tell() }
        }

        private func connect() throws(PostgreSQLError) -> Held {
            let refusal = self.state.withLock { state in
                let refusal = state.delay.refusal(at: .now)
                if refusal == nil { state.connected += 1 }
                return refusal
            }
            if let refusal { throw refusal }
            let start = ContinuousClock.now
            do throws(PostgreSQLError) {
                let session = try PostgreSQLSession(self.address, self.limits, listener: self)
                try self.tables?.prepare(session, logger: self.logger)
                let silences = self.state.withLock { state in
                    state.delay.succeeded()
                    return state.watch.silences
                }
                self.logger.debug("connected to PostgreSQL", metadata: ["address": "\(self.address)"])
                return (session, silences)
            } catch {
                let isMissed = self.state.withLock { state in
                    state.connected -= 1
                    if state.leavesToOthers(after: error) { return false }
                    state.delay.failed(error, at: .now, chance: .random(in: 0...1))
                    return true
                }
                guard isMissed else {
                    self.shortages.note("\(error)", ["error": "\(error)"])
                    throw error
                }
                self.failures.note("\(error)", ["error": "\(error)"])
                self.refuseWaiting(error) { $0.failed(error, begun: start) }
                throw error
            }
        }

        /// Puts a job back for others, if it is for them; says whether it is.
        private func leave(_ turn: Turn, toOthersAfter error: PostgreSQLError) -> Bool {
            let hasOthers = self.state.withLock { state in
                guard state.leavesToOthers(after: error) else { return false }
                state.busy -= 1
                state.waiting.insert(turn.job, at: 0)
                return true
            }
            if hasOthers { self.arrivals.signal() }
            return hasOthers
        }

        private func end(_ turn: Turn) {
            self.state.withLock { state in
                state.busy -= 1
                if turn.isTrial { state.watch.endTrial() }
            }
        }

        /// Refuses all that waits if what happened puts the server in doubt; says whether it does.
        @discardableResult
        private func refuseWaiting(_ error: PostgreSQLError, if isInDoubt: (inout AnswerWatch) -> Bool) -> Bool {
            let refused: [Job]? = self.state.withLock { state in
                guard isInDoubt(&state.watch) else { return nil }
                if !state.waiting.isEmpty { state.watch.endTrial() }
                defer { state.waiting = [] }
                return state.waiting
            }
            for job in refused ?? [] { job(.failure(error)) }
            return refused != nil
        }

        func heard() {
            guard self.state.withLock({ $0.watch.answered(at: .now) }) else { return }
            self.logger.info("PostgreSQL answers again", metadata: ["address": "\(self.address)"])
        }

        func waited(since start: ContinuousClock.Instant, probe: () -> Bool) {
            let begin = ContinuousClock.now
            guard self.state.withLock({ $0.watch.beginsProbe(waitingSince: start, at: begin) }) else { return }
            let isAnswered = probe()
            self.state.withLock { $0.watch.endProbe(at: .now) }
            guard !isAnswered else { return self.heard() }
            let error = PostgreSQLError(
                code: .unreachable,
                message: "\(self.address) does not answer any more; look after the server and the network.")
            let isInDoubt = self.refuseWaiting(error) { $0.fellSilent(error, begun: begin) }
            if isInDoubt { self.silences.note("\(error)", ["error": "\(error)"]) }
        }
    }
}

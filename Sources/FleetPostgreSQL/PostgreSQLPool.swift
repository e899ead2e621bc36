// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FleetTokens
import Foundation
public import Logging

/// A few connections to one database, each on a thread of its own; what waits is served in the order of its arrival.
///
/// A connection is made when it is first needed, and again when it broke. While the server cannot be reached, callers
/// are answered at once with the reason, and attempts to reach it are spaced out.
public final class PostgreSQLPool: Sendable {
    /// What a thread does with its session, or with the reason why there is none.
    public typealias Job = @Sendable (Result<PostgreSQLSession, PostgreSQLError>) -> Void

    /// Where the database is.
    public let address: PostgreSQLAddress
    private let shared: Shared

    /// Makes a pool; nothing is connected yet.
    ///
    /// - Parameters:
    ///   - address: Where the database is.
    ///   - connections: How many connections to make at most.
    ///   - limits: How long is waited for what.
    ///   - schema: The tables, brought up to date on each new connection.
    ///   - logger: Hears when the server is lost and found again.
    public init(
        _ address: PostgreSQLAddress, connections: Int, limits: PostgreSQLLimits = PostgreSQLLimits(),
        schema: PostgreSQLSchema? = nil, logger: Logger
    ) {
        self.address = address
        self.shared = Shared(address: address, limits: limits, schema: schema, logger: logger)
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

    /// Has what waits finished and the connections closed, and returns at once; later jobs are refused.
    public func finish() { self.shared.close {} }

    /// Runs a body with a session.
    ///
    /// - Parameter body: Runs on a thread of the pool, and may wait for the server there.
    /// - Returns: What the body returns.
    /// - Throws: ``PostgreSQLError``, or what the body throws.
    public func run<Success: Sendable>(
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
    public func submit(_ job: @escaping Job) {
        switch self.shared.admit(job) {
        case nil: break
        case let error?: job(.failure(error))
        }
    }

    /// Finishes what waits, then closes the connections; later jobs are refused.
    public func close() async {
        await withCheckedContinuation { continuation in
            self.shared.close { continuation.resume() }
        }
    }
}

extension PostgreSQLPool {
    /// What the threads share; it outlives the pool until the last one ended.
    private final class Shared: Sendable {
        struct State {
            var waiting: [Job] = []
            var delay = ReconnectDelay()
            var isClosed = false
            var threads = 0
            var whenEnded: [@Sendable () -> Void] = []
        }

        let address: PostgreSQLAddress
        let limits: PostgreSQLLimits
        let schema: PostgreSQLSchema?
        let logger: Logger
        let state = Locked(State())
        private let arrivals = DispatchSemaphore(value: 0)

        init(address: PostgreSQLAddress, limits: PostgreSQLLimits, schema: PostgreSQLSchema?, logger: Logger) {
            self.address = address
            self.limits = limits
            self.schema = schema
            self.logger = logger
        }

        func admit(_ job: @escaping Job) -> PostgreSQLError? {
            let error: PostgreSQLError? = self.state.withLock { state in
                guard !state.isClosed else {
                    return PostgreSQLError(code: .closed, message: "The connection to \(self.address) was closed.")
                }
                guard state.waiting.count < self.limits.waiting else {
                    return PostgreSQLError(
                        code: .overloaded, message: "Too much waits for \(self.address); retry in a second.")
                }
                state.waiting.append(job)
                return nil
            }
            if error == nil { self.arrivals.signal() }
            return error
        }

        func close(_ whenEnded: @escaping @Sendable () -> Void) {
            let threads = self.state.withLock { state in
                state.isClosed = true
                if state.threads > 0 { state.whenEnded.append(whenEnded) }
                return state.threads
            }
            guard threads > 0 else { return whenEnded() }
            for _ in 0..<threads { self.arrivals.signal() }
        }

        func work() {
            var session: PostgreSQLSession?
            while true {
                self.arrivals.wait()
                let job: Job? = self.state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
                guard let job else { break }
                if session?.isUsable != true { session = nil }
                do throws(PostgreSQLError) {
                    let usable: PostgreSQLSession
                    if let session { usable = session } else { usable = try self.connect() }
                    session = usable
                    job(.success(usable))
                } catch {
                    job(.failure(error))
                }
            }
            session = nil
            let ended = self.state.withLock { state in
                state.threads -= 1
                return state.threads == 0 ? state.whenEnded : []
            }
            for tell in ended { tell() }
        }

        private func connect() throws(PostgreSQLError) -> PostgreSQLSession {
            if let refusal = self.state.withLock({ $0.delay.refusal(at: .now) }) { throw refusal }
            do throws(PostgreSQLError) {
                let session = try PostgreSQLSession(self.address, self.limits)
                try self.schema?.migrate(session)
                self.state.withLock { $0.delay.succeeded() }
                self.logger.debug("connected to PostgreSQL", metadata: ["address": "\(self.address)"])
                return session
            } catch {
                self.logger.error("PostgreSQL cannot be used", metadata: ["error": "\(error)"])
                self.state.withLock { $0.delay.failed(error, at: .now, chance: .random(in: 0...1)) }
                throw error
            }
        }
    }
}

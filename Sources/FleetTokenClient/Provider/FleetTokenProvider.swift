// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens

/// Fetches tokens from a token server, keeps them, and hands out one that is good for a call made now.
///
/// Make one per app session and share it: callers for the same subject share one fetch, and a token in the cache
/// costs less than a microsecond. Expiry is counted on a clock that no change of the phone's date can move.
///
/// ```swift
/// let tokens = try FleetTokenProvider(endpoint: .fleetpass(serverURL)) {
///     [(name: "Authorization", value: "Bearer \(await session.idToken)")]
/// }
/// let token = try await tokens.token(for: .driver(vehicle))
/// ```
public final class FleetTokenProvider: TokenProvider {
    /// What the app sends along to say who its user is, as header fields; asked for before each fetch.
    public typealias Credentials = @Sendable () async throws -> [(name: String, value: String)]

    private struct State: Sendable {
        var machine: TokenCacheMachine
        var callers: [TokenCacheMachine.CallerID: CheckedContinuation<FleetToken, any Error>] = [:]
        var tasks: [TokenCacheMachine.FlightID: [Task<Void, Never>]] = [:]
        var listeners: [UInt64: AsyncStream<TokenEvent>.Continuation] = [:]
        var lastNumber: UInt64 = 0

        mutating func nextNumber() -> UInt64 {
            self.lastNumber += 1
            return self.lastNumber
        }
    }

    /// What is left to do once the lock is free, because it calls out.
    private struct Effects: Sendable {
        var ended: [(CheckedContinuation<FleetToken, any Error>, TokenCacheMachine.Outcome)] = []
        var stopped: [Task<Void, Never>] = []
        var notices: [TokenEvent] = []
        var listeners: [AsyncStream<TokenEvent>.Continuation] = []

        func perform() {
            for (continuation, outcome) in self.ended {
                switch outcome {
                case .token(let token): continuation.resume(returning: token)
                case .failure(let error): continuation.resume(throwing: error)
                case .cancelled: continuation.resume(throwing: CancellationError())
                }
            }
            for task in self.stopped { task.cancel() }
            for listener in self.listeners {
                for notice in self.notices { listener.yield(notice) }
            }
        }
    }

    private let state: Locked<State>
    private let time: MonotonicTime
    private let fetcher: TokenFetcher

    /// Makes a provider with nothing cached; nothing is fetched yet.
    ///
    /// - Parameters:
    ///   - endpoint: Where tokens come from.
    ///   - transport: What sends the requests; by default, a `URLSession` without cache, cookies and redirects.
    ///   - configuration: How tokens are kept and refreshed.
    ///   - clock: What expiry is counted on; it must count sleep and never go back.
    ///   - credentials: The app's own session as header fields, asked for before each fetch.
    /// - Throws: ``TokenClientError`` with `invalidConfiguration`.
    public init<C: Clock>(
        endpoint: TokenEndpoint,
        transport: any HTTPTransport = URLSessionTransport(maximumBodyBytes: TokenEndpoint.maximumAnswerBytes),
        configuration: TokenCacheConfiguration = TokenCacheConfiguration(),
        clock: C = ContinuousClock(),
        credentials: @escaping Credentials = { [] }
    ) throws(TokenClientError) where C.Duration == Duration {
        try configuration.validate()
        // Seeded by the system, so that phones do not refresh in step.
        var generator = SystemRandomNumberGenerator()
        let machine = TokenCacheMachine(configuration: configuration, seed: generator.next())
        self.state = Locked(State(machine: machine))
        self.time = MonotonicTime(clock)
        self.fetcher = TokenFetcher(
            endpoint: endpoint, transport: transport, credentials: credentials, timeout: configuration.fetchTimeout)
    }

    deinit {
        self.state.withLock { Array($0.listeners.values) }.forEach { $0.finish() }
    }

    /// A token for the subject, with at least the configured minimum life while the server answers.
    ///
    /// A caller that is cancelled leaves at once; the fetch goes on for the others and for the cache.
    ///
    /// - Parameter subject: Whose token is needed.
    /// - Returns: The token, from the cache or newly fetched.
    /// - Throws: ``TokenClientError``, or `CancellationError` when the calling task was cancelled.
    public func token(for subject: TokenSubject) async throws -> FleetToken {
        let fresh = self.state.withLock { $0.machine.freshToken(for: subject, at: self.time.now) }
        if let fresh { return fresh }
        return try await self.decidedToken(for: subject)
    }

    /// Says that the service refused a token; it is dropped if it is still the current one.
    ///
    /// - Parameters:
    ///   - token: The token that was refused; a newer one is kept.
    ///   - subject: Whose token it was.
    public func invalidate(_ token: FleetToken, for subject: TokenSubject) {
        self.apply(.invalidated(subject, token))
    }

    /// What happens to the tokens from now on, for logs and metrics.
    ///
    /// - Parameter newest: How many events wait for a slow reader; older ones are dropped.
    /// - Returns: A stream of its own, which ends with the provider.
    public func events(bufferingNewest newest: Int = 64) -> AsyncStream<TokenEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: TokenEvent.self, bufferingPolicy: .bufferingNewest(max(newest, 1)))
        let number = self.state.withLock { state in
            let number = state.nextNumber()
            state.listeners[number] = continuation
            return number
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.listeners.removeValue(forKey: number) }
        }
        return stream
    }
}

// MARK: - The machine's surroundings

extension FleetTokenProvider {
    private func decidedToken(for subject: TokenSubject) async throws -> FleetToken {
        let caller = self.state.withLock { TokenCacheMachine.CallerID($0.nextNumber()) }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                self.state.withLock { $0.callers[caller] = continuation }
                self.apply(.requested(subject, caller))
                // A cancellation that came before the request found nobody to cancel.
                if Task.isCancelled { self.apply(.cancelled(subject, caller)) }
            }
        } onCancel: {
            self.apply(.cancelled(subject, caller))
        }
    }

    private func apply(_ event: TokenCacheMachine.Event) {
        let effects = self.state.withLock { state in
            var effects = Effects()
            switch event {
            case .fetched(let flight, _), .failed(let flight, _):
                effects.stopped += state.tasks.removeValue(forKey: flight) ?? []
            default: break
            }
            for action in state.machine.handle(event, at: self.time.now) {
                self.perform(action, on: &state, into: &effects)
            }
            effects.listeners = effects.notices.isEmpty ? [] : Array(state.listeners.values)
            return effects
        }
        effects.perform()
    }

    private func perform(_ action: TokenCacheMachine.Action, on state: inout State, into effects: inout Effects) {
        switch action {
        case .startFetch(let flight, let deadline): state.tasks[flight] = self.start(flight, deadline: deadline)
        case .stopFetch(let flight): effects.stopped += state.tasks.removeValue(forKey: flight) ?? []
        case .resume(let callers, let outcome):
            for caller in callers {
                guard let continuation = state.callers.removeValue(forKey: caller) else { continue }
                effects.ended.append((continuation, outcome))
            }
        case .notify(let event): effects.notices.append(event)
        }
    }

    // Unstructured on purpose: no caller's cancellation may reach the fetch. The wake-up ends what a transport that
    // ignores its timeout would leave hanging.
    private func start(_ flight: TokenCacheMachine.FlightID, deadline: MonotonicInstant) -> [Task<Void, Never>] {
        let fetch = Task {
            do throws(TokenClientError) {
                self.apply(.fetched(flight, try await self.fetcher.grant(for: flight.subject)))
            } catch {
                self.apply(.failed(flight, error))
            }
        }
        let wakeUp = Task {
            guard (try? await self.time.sleep(until: deadline)) != nil else { return }
            self.apply(.deadlinePassed(flight))
        }
        return [fetch, wakeUp]
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

// The machine's surroundings: callers, tasks and listeners.

extension FleetTokenProvider {
    struct State: Sendable {
        var machine: TokenCacheMachine
        var callers: [TokenCacheMachine.CallerID: Caller] = [:]
        var tasks: [TokenCacheMachine.FlightID: [Task<Void, Never>]] = [:]
        var metrics = TokenMetrics()
        var clockWatch = DeviceClockWatch()
        var lastCaller: UInt64 = 0

        init(machine: TokenCacheMachine) {
            self.machine = machine
        }

        mutating func nextCaller() -> TokenCacheMachine.CallerID {
            self.lastCaller += 1
            return TokenCacheMachine.CallerID(self.lastCaller)
        }
    }

    /// A call that has not ended.
    struct Caller: Sendable {
        let continuation: CheckedContinuation<TokenCacheMachine.Outcome, Never>
        let since: MonotonicInstant
        /// Whether its wait counts as time lost for want of a token.
        let isMeasured: Bool
    }

    /// What a fetch waits for, and how long it waited for what came before.
    private struct Progress: Sendable {
        private(set) var step = TokenCacheMachine.FetchStep.store
        private(set) var taken: [TokenCacheMachine.FetchStep: Duration] = [:]
        private var since: MonotonicInstant

        init(at now: MonotonicInstant) {
            self.since = now
        }

        mutating func begin(_ next: TokenCacheMachine.FetchStep, at now: MonotonicInstant) {
            self.taken[self.step] = self.since.duration(to: now)
            (self.step, self.since) = (next, now)
        }
    }

    /// What is left to do once the lock is free, because it calls out.
    private struct Effects: Sendable {
        let stamp: Stamp?
        var ended: [(CheckedContinuation<TokenCacheMachine.Outcome, Never>, TokenCacheMachine.Outcome)] = []
        var stopped: [Task<Void, Never>] = []
    }

    /// When an event came, by the phone's own clocks.
    private struct Stamp: Sendable {
        let date: Date
        let sinceBoot: Duration
    }

    /// Makes one call and waits for its end.
    func call(
        for subject: TokenSubject, measured isMeasured: Bool,
        _ event: @Sendable (TokenCacheMachine.CallerID) -> TokenCacheMachine.Event
    ) async throws -> (token: FleetToken, life: Duration) {
        let caller = self.state.withLock { $0.nextCaller() }
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.state.withLock { state in
                    state.callers[caller] = Caller(
                        continuation: continuation, since: self.time.now, isMeasured: isMeasured)
                }
                self.apply(event(caller))
                // A cancellation that came before the request found nobody to cancel.
                if Task.isCancelled { self.apply(.cancelled(subject, caller)) }
            }
        } onCancel: {
            self.apply(.cancelled(subject, caller))
        }
        switch outcome {
        case .token(let token, let life): return (token, life)
        case .failure(let error): throw error
        case .cancelled: throw CancellationError()
        }
    }

    func apply(_ event: TokenCacheMachine.Event) {
        // Read outside of the lock, and before the event: a stored token then seems older, not younger.
        let stamp = self.archive.map { Stamp(date: $0.deviceClock.date, sinceBoot: $0.deviceClock.sinceBoot) }
        let effects = self.state.withLock { state in
            var effects = Effects(stamp: stamp)
            switch event {
            case .fetched(let flight, _), .failed(let flight, _):
                effects.stopped += state.tasks.removeValue(forKey: flight) ?? []
            default: break
            }
            let now = self.time.now
            for action in state.machine.handle(event, at: now) {
                self.perform(action, after: event, at: now, on: &state, into: &effects)
            }
            return effects
        }
        // First: whoever hears that a fetch was given up may rely on it that nothing is sent for it any more.
        for task in effects.stopped { task.cancel() }
        for (continuation, outcome) in effects.ended { continuation.resume(returning: outcome) }
    }

    // Writes and notices leave under the lock, so that they keep the order of the events; neither calls out.
    private func perform(
        _ action: TokenCacheMachine.Action, after event: TokenCacheMachine.Event, at now: MonotonicInstant,
        on state: inout State, into effects: inout Effects
    ) {
        switch action {
        case .startFetch(let flight, let patienceEnds, let deadline):
            let isBare = state.machine.phase(of: flight.subject, at: now) == .fetching
            state.tasks[flight] = self.start(
                flight, patienceEnds: patienceEnds, deadline: deadline, asksArchive: isBare)
        case .stopFetch(let flight): effects.stopped += state.tasks.removeValue(forKey: flight) ?? []
        case .resume(let callers, let outcome):
            for caller in callers {
                guard let call = state.callers.removeValue(forKey: caller) else { continue }
                effects.ended.append((call.continuation, outcome))
                guard call.isMeasured else { continue }
                state.metrics.count(outcome, wait: event.isRequest(of: caller) ? nil : call.since.duration(to: now))
            }
        case .save(let subject, let token, let life):
            guard let stamp = effects.stamp else { return }
            let stored = StoredToken(
                token: token, life: life, savedAt: stamp.date, sinceBoot: stamp.sinceBoot,
                clockOffset: state.clockWatch.latest?.offset)
            self.archive?.enqueue(.save(subject, stored))
        case .discard(let subject): self.archive?.enqueue(.remove(subject))
        case .notify(let event):
            state.metrics.count(event)
            self.broadcast.send(event)
        }
    }

    /// Ends a fetch whose step did not answer in time, and says how the time was spent.
    private func giveUp(_ flight: TokenCacheMachine.FlightID, _ progress: Progress) {
        self.apply(.deadlinePassed(flight, awaiting: progress.step, after: progress.taken))
    }

    // Unstructured on purpose: no caller's cancellation may reach the fetch. Nor may the priority of the first, as a
    // prefetch in the background would hold up all who come later. The last wake-up ends what a transport that ignores its
    // timeout would leave hanging.
    private func start(
        _ flight: TokenCacheMachine.FlightID, patienceEnds: MonotonicInstant, deadline: MonotonicInstant,
        asksArchive: Bool
    ) -> [Task<Void, Never>] {
        let progress = Locked(Progress(at: self.time.now))
        let fetch = Task(priority: .userInitiated) {
            if asksArchive { await self.restore(flight) }
            // Stopped because the stored token is good enough.
            guard !Task.isCancelled else { return }
            let fetched = await self.fetcher.fetch(flight.subject, until: deadline) { step in
                progress.withLock { $0.begin(step, at: self.time.now) }
            }
            guard let outcome = fetched else { return }
            if let clockError = outcome.clockError { self.note(clockError) }
            switch outcome.grant {
            case .success(let grant): self.apply(.fetched(flight, grant))
            // The transport ends before the deadline, and knows nothing of what came before it.
            case .failure where outcome.isTimeUp: self.giveUp(flight, progress.withLock { $0 })
            case .failure(let error): self.apply(.failed(flight, error))
            }
        }
        let wakeUps = Task(priority: .userInitiated) {
            guard (try? await self.time.sleep(until: patienceEnds)) != nil else { return }
            self.apply(.patienceEnded(flight))
            guard (try? await self.time.sleep(until: deadline)) != nil else { return }
            self.giveUp(flight, progress.withLock { $0 })
        }
        return [fetch, wakeUps]
    }

    private func restore(_ flight: TokenCacheMachine.FlightID) async {
        let offset = self.deviceClockError?.offset
        guard let grant = await self.archive?.grant(for: flight.subject, clockOffset: offset) else { return }
        self.apply(.restored(flight, grant))
    }

    private func note(_ clockError: DeviceClockError) {
        self.state.withLock { state in
            if let news = state.clockWatch.take(clockError) { self.broadcast.send(.clockError(news)) }
        }
    }
}

extension TokenCacheMachine.Event {
    /// Whether this is where a call began, so that an end that follows at once was no wait.
    fileprivate func isRequest(of caller: TokenCacheMachine.CallerID) -> Bool {
        if case .requested(_, caller) = self { true } else { false }
    }
}

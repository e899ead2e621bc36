// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Values by key, each fetched once for all who ask and renewed before it ends.
///
/// Keys do not wait for one another. A cancelled caller ends its own waiting and nothing else.
package final class RefreshingCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private typealias Waiter = CheckedContinuation<Value, any Error>

    private struct Slot: Sendable {
        var machine: RefreshMachine<Value>
        var waiters: [UInt64: Waiter] = [:]
    }

    private struct State: Sendable {
        var statistics = CacheStatistics()
        var slots: [Key: Slot] = [:]
        var lastWaiter: UInt64 = 0
    }

    private enum Joining {
        case done(Result<Value, any Error>)
        case waiting
    }

    private let state = Locked(State())
    private let windows: RefreshWindows
    private let capacity: Int
    private let time: TimeSource
    private let random: @Sendable () -> Double
    private let fetch: @Sendable (Key) async throws -> (value: Value, life: Duration)

    /// Makes a cache.
    ///
    /// - Parameters:
    ///   - windows: When values are renewed.
    ///   - capacity: How many keys are remembered: a new one displaces another that is not being fetched, so that there may
    ///     be more while all are.
    ///   - time: The clock.
    ///   - random: Gives numbers between 0 and 1 for the jitter.
    ///   - fetch: Fetches a value and says how long it lasts from the start of the fetch.
    package init(
        windows: RefreshWindows, capacity: Int = 1024, time: TimeSource,
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
        fetch: @escaping @Sendable (Key) async throws -> (value: Value, life: Duration)
    ) {
        self.windows = windows
        self.capacity = capacity
        self.time = time
        self.random = random
        self.fetch = fetch
    }

    /// The value of a key, fetched where there is none that lasts.
    package func value(for key: Key) async throws -> Value {
        try Task.checkCancellation()
        let number = self.state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                self.join(key, as: number, continuation)
            }
        } onCancel: {
            self.state.withLock { $0.slots[key]?.waiters.removeValue(forKey: number) }?
                .resume(throwing: CancellationError())
        }
    }

    /// The value of a key, where there is one that has not ended; nothing is fetched.
    package func current(_ key: Key) -> Value? {
        let now = self.time.uptime
        return self.state.withLock { $0.slots[key]?.machine.value(at: now) }
    }

    /// Starts to fetch the value of a key where it is due and may be fetched; nobody waits for it.
    package func prepare(_ key: Key) {
        let now = self.time.uptime
        let starts = self.state.withLock { state -> Bool in
            if state.slots[key] == nil { self.makeRoom(in: &state, at: now) }
            switch state.slots[key, default: self.emptySlot].machine.ask(at: now) {
            case .serve(_, let startsRefresh), .wait(let startsRefresh): return startsRefresh
            case .fail: return false
            }
        }
        // Unstructured on purpose: whoever asks for the value later waits for this fetch.
        if starts { Task { await self.refresh(key) } }
    }

    /// What happened so far.
    package var statistics: CacheStatistics { self.state.withLock { $0.statistics } }

    /// Forgets a value that turned out to be good for nothing, unless it was fetched a moment ago.
    ///
    /// - Parameters:
    ///   - key: Whose value.
    ///   - isUseless: Whether the value that is there is the one; another may have taken its place.
    /// - Returns: Whether the next caller gets another value.
    package func discard(_ key: Key, where isUseless: (Value) -> Bool) -> Bool {
        let now = self.time.uptime
        return self.state.withLock { state in
            guard let value = state.slots[key]?.machine.value(at: now), isUseless(value) else { return true }
            state.slots[key]?.machine.discard(at: now)
            return state.slots[key]?.machine.value(at: now) == nil
        }
    }

    /// Has a value renewed before the next caller has it.
    ///
    /// - Parameters:
    ///   - key: Whose value.
    ///   - isUseless: Whether it is good for nothing, also where no other can be had.
    ///   - isMeant: Whether the value that is there is the one; another may have taken its place.
    package func renew(_ key: Key, isUseless: Bool, where isMeant: (Value) -> Bool) {
        let now = self.time.uptime
        self.state.withLock { state in
            guard let value = state.slots[key]?.machine.value(at: now), isMeant(value) else { return }
            state.slots[key]?.machine.renew(at: now, isUseless: isUseless)
        }
    }

    private func join(_ key: Key, as number: UInt64, _ continuation: Waiter) {
        let now = self.time.uptime
        let (joining, startsRefresh) = self.state.withLock { state -> (Joining, Bool) in
            if state.slots[key] == nil { self.makeRoom(in: &state, at: now) }
            // Changed in place: a copy of many waiters for each new one would cost their square.
            switch state.slots[key, default: self.emptySlot].machine.ask(at: now) {
            case .serve(let value, let startsRefresh):
                state.statistics.hits += 1
                return (.done(.success(value)), startsRefresh)
            case .fail(let error):
                state.statistics.misses += 1
                return (.done(.failure(error)), false)
            case .wait(let startsRefresh):
                state.statistics.misses += 1
                // Cancelled before it lay down: the handler ran already and found nobody.
                guard !Task.isCancelled else { return (.done(.failure(CancellationError())), startsRefresh) }
                state.slots[key, default: self.emptySlot].waiters[number] = continuation
                return (.waiting, startsRefresh)
            }
        }
        // Unstructured on purpose: no caller's cancellation may end what the others wait for.
        if startsRefresh { Task { await self.refresh(key) } }
        if case .done(let result) = joining { continuation.resume(with: result) }
    }

    private var emptySlot: Slot { Slot(machine: RefreshMachine(windows: self.windows)) }

    private func makeRoom(in state: inout State, at now: Duration) {
        guard state.slots.count >= self.capacity else { return }
        state.slots = state.slots.filter { !$0.value.machine.isIdle(at: now) }
        guard state.slots.count >= self.capacity,
            let victim = state.slots.first(where: { !$0.value.machine.isRefreshing })?.key
        else { return }
        state.slots[victim] = nil
    }

    private func refresh(_ key: Key) async {
        let start = self.time.uptime
        let result: Result<(value: Value, life: Duration), any Error>
        do {
            result = .success(try await self.fetch(key))
        } catch {
            result = .failure(error)
        }
        let now = self.time.uptime
        let random = self.random()
        let (waiters, answer) = self.state.withLock { state -> ([Waiter], Result<Value, any Error>) in
            state.statistics.fetches += 1
            if case .failure = result { state.statistics.failures += 1 }
            guard var slot = state.slots[key] else { return ([], result.map(\.value)) }
            let answer: Result<Value, any Error>
            switch result {
            case .success(let fetched):
                slot.machine.succeed(fetched.value, endingAt: start + fetched.life, at: now, random: random)
                answer = slot.machine.value(at: now).map { .success($0) } ?? .failure(EndedOnArrival())
            case .failure(let error):
                slot.machine.fail(error, at: now, random: random)
                answer = slot.machine.value(at: now).map { .success($0) } ?? .failure(error)
            }
            let waiters = Array(slot.waiters.values)
            slot.waiters = [:]
            state.slots[key] = slot
            return (waiters, answer)
        }
        for waiter in waiters { waiter.resume(with: answer) }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokens

@testable import FleetEngine

/// Lets the clients of a race pass one at a time, or some at once, as a seed has it.
///
/// Nobody passes before every client that is still at work waits here; who then does is drawn. With one at a time, the
/// whole race follows from the seed.
final class Turnstile: Sendable {
    private struct State {
        var random: SeededGenerator
        var working: Int
        var waiting: [(client: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    /// The client that the task works for.
    @TaskLocal static var client = 0

    private let state: Locked<State>
    private let passesSeveral: Bool

    /// Makes a turnstile.
    ///
    /// - Parameters:
    ///   - clients: How many clients take part.
    ///   - passesSeveral: Whether it may let more than one pass at once.
    ///   - seed: What the draws follow from.
    init(clients: Int, passesSeveral: Bool, seed: UInt64) {
        self.passesSeveral = passesSeveral
        self.state = Locked(State(random: SeededGenerator(seed: seed), working: clients))
    }

    /// Waits for the own turn.
    func pass() async {
        await withCheckedContinuation { continuation in
            self.change { $0.waiting.append((Self.client, continuation)) }
        }
    }

    /// Ends a client's part.
    func leave() { self.change { $0.working -= 1 } }

    private func change(_ body: (inout State) -> Void) {
        let passing = self.state.withLock { state in
            body(&state)
            return self.draw(from: &state)
        }
        for continuation in passing { continuation.resume() }
    }

    private func draw(from state: inout State) -> [CheckedContinuation<Void, Never>] {
        guard state.waiting.count == state.working, !state.waiting.isEmpty else { return [] }
        state.waiting.sort { $0.client < $1.client }
        let count = self.passesSeveral ? Int.random(in: 1...state.waiting.count, using: &state.random) : 1
        return (0..<count).map { _ in
            state.waiting.remove(at: Int.random(in: state.waiting.indices, using: &state.random)).continuation
        }
    }
}

/// A store whose every transaction waits at a turnstile before it and after it.
struct TurnstileStore: EngineStore {
    let store: any EngineStore
    let turnstile: Turnstile

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineReader) throws -> Result
    ) async throws -> Result {
        try await self.passing { try await self.store.read(body) }
    }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineTransaction) throws -> Result
    ) async throws -> Result {
        try await self.passing { try await self.store.write(body) }
    }

    private func passing<Result>(_ transaction: () async throws -> Result) async throws -> Result {
        await self.turnstile.pass()
        let result: Swift.Result<Result, any Error>
        do { result = .success(try await transaction()) } catch { result = .failure(error) }
        await self.turnstile.pass()
        return try result.get()
    }
}

/// A store without isolation: what a body reads is from before its turn, what it puts comes later.
struct TornStore: EngineStore {
    let store: any EngineStore
    let turnstile: Turnstile

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineReader) throws -> Result
    ) async throws -> Result {
        await self.turnstile.pass()
        return try await self.store.read(body)
    }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineTransaction) throws -> Result
    ) async throws -> Result {
        await self.turnstile.pass()
        let before = try await StoreSnapshot(of: self.store)
        let own = MemoryStore()
        try await before.install(in: own)
        let result = try await own.write(body)
        await self.turnstile.pass()
        try await StoreSnapshot(of: own).installChanges(since: before, in: self.store)
        return result
    }
}

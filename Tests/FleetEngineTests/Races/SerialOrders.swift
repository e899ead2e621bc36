// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

@testable import FleetEngine

/// A command of a race and what came of it.
struct RaceEvent: Sendable {
    let command: RaceCommand
    let outcome: RaceOutcome
    /// Its place among all beginnings and endings of commands, and that of its end.
    let began: Int
    let ended: Int
}

/// Looks for an order in which a race's commands, one after the other, have the same outcomes and leave the same behind.
///
/// A command that ended before another began comes before it (linearizability, Herlihy and Wing 1990). The search goes
/// depth first, and leaves an order where an outcome differs (Wing and Gong 1993).
struct SerialOrders {
    private let events: [RaceEvent]
    private let end: StoreSnapshot
    private let model = MemoryStore()
    private let engine: Engine
    /// How many beginnings of orders were tried that did not explain the race.
    private(set) var refuted = 0

    init(of events: [RaceEvent], to end: StoreSnapshot) {
        self.events = events
        self.end = end
        self.engine = Engine(store: self.model, verifier: TextVerifier(), now: { RaceCommand.now })
    }

    /// The first order that explains the race, as indices of events; `nil` where none does.
    mutating func search(from start: StoreSnapshot) async throws -> [Int]? {
        try await self.extend([], from: start)
    }

    private mutating func extend(_ order: [Int], from state: StoreSnapshot) async throws -> [Int]? {
        let left = self.events.indices.filter { !order.contains($0) }
        guard !left.isEmpty else {
            if state == self.end { return order }
            self.refuted += 1
            return nil
        }
        for next in left where left.allSatisfy({ self.events[$0].ended > self.events[next].began }) {
            try await state.install(in: self.model)
            let outcome = try await self.events[next].command.outcome(at: self.engine)
            guard outcome == self.events[next].outcome else {
                self.refuted += 1
                continue
            }
            let reached = try await StoreSnapshot(of: self.model)
            if let found = try await self.extend(order + [next], from: reached) { return found }
        }
        return nil
    }
}

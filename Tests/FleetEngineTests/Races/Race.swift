// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

@testable import FleetEngine

/// Runs a script against stores, and looks whether what was seen is what some serial order gives.
struct Race {
    /// The stores of the nodes that clients call by turns; all are of one database.
    let nodes: [any EngineStore]
    /// Wraps a node's store; a turnstile decides who goes on.
    var isolation: @Sendable (any EngineStore, Turnstile) -> any EngineStore = {
        TurnstileStore(store: $0, turnstile: $1)
    }

    /// What was seen of a race.
    struct Finding {
        let events: [RaceEvent]
        /// An order that explains the race.
        let order: [Int]?
        /// How many beginnings of orders did not explain it.
        let refuted: Int
    }

    private struct Stamps {
        var next = 0
        var events: [RaceEvent] = []

        mutating func stamp() -> Int {
            defer { self.next += 1 }
            return self.next
        }
    }

    /// Runs a script.
    ///
    /// - Parameters:
    ///   - script: The script.
    ///   - passesSeveral: Whether transactions may meet in the store; without, all follows from the seed.
    /// - Returns: What was seen.
    /// - Throws: What the store throws.
    func run(_ script: RaceScript, passesSeveral: Bool) async throws -> Finding {
        let start = try await Self.start(of: script)
        try await start.install(in: self.nodes[0])
        let turnstile = Turnstile(
            clients: script.clients.count, passesSeveral: passesSeveral, seed: script.seed)
        let engines = self.nodes.map { store in
            Engine(store: self.isolation(store, turnstile), verifier: TextVerifier(), now: { RaceCommand.now })
        }
        let stamps = Locked(Stamps())
        try await withThrowingDiscardingTaskGroup { group in
            for (client, commands) in script.clients.enumerated() {
                group.addTask {
                    defer { turnstile.leave() }
                    try await Turnstile.$client.withValue(client) {
                        for command in commands {
                            let began = stamps.withLock { $0.stamp() }
                            let outcome = try await command.outcome(at: engines[client % engines.count])
                            stamps.withLock {
                                let event = RaceEvent(
                                    command: command, outcome: outcome, began: began, ended: $0.stamp())
                                $0.events.append(event)
                            }
                        }
                    }
                }
            }
        }
        let events = stamps.withLock { $0.events }
        var orders = SerialOrders(of: events, to: try await StoreSnapshot(of: self.nodes[0]))
        let order = try await orders.search(from: start)
        return Finding(events: events, order: order, refuted: orders.refuted)
    }

    /// What the setup leaves, one command after the other.
    private static func start(of script: RaceScript) async throws -> StoreSnapshot {
        let store = MemoryStore()
        let engine = Engine(store: store, verifier: TextVerifier(), now: { RaceCommand.now })
        for command in script.setup { _ = try await command.outcome(at: engine) }
        return try await StoreSnapshot(of: store)
    }
}

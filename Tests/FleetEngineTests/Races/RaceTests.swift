// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import PostgreSQLTestSupport
import Testing

@testable import FleetEngine

/// Commands that run at once leave what some order of them, one after the other, leaves, and are answered alike.
///
/// `FLEETPASS_RACES` sets how many races each test runs; `FLEETPASS_RACES_SEED` where it begins.
@Suite(.serialized, .timeLimit(.minutes(60))) struct RaceTests {
    private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }

    private static func seeds(_ usual: Int) -> Range<UInt64> {
        let first = UInt64(Self.number("FLEETPASS_RACES_SEED") ?? 1)
        return first..<first + UInt64(Self.number("FLEETPASS_RACES") ?? usual)
    }

    /// What races showed in all.
    private struct Tally {
        var answered = 0
        var refused = 0
        /// Races that not every order explains.
        var contested: [RaceScript.Topic: Int] = [:]

        mutating func add(_ finding: Race.Finding, of script: RaceScript) {
            self.refused += finding.events.count { $0.outcome.failure != nil }
            self.answered += finding.events.count { $0.outcome.failure == nil }
            if finding.refuted > 0 { self.contested[script.topic, default: 0] += 1 }
        }
    }

    /// Runs races; each must be explained.
    private static func explain(_ race: Race, seeds: Range<UInt64>) async throws {
        var tally = Tally()
        for seed in seeds {
            let script = RaceScript(seed: seed)
            let finding = try await race.run(script, passesSeveral: seed % 2 == 0 || race.nodes.count > 1)
            tally.add(finding, of: script)
            let text = finding.events.map { "\($0.began)–\($0.ended) \($0.command) → \($0.outcome)" }
            #expect(
                finding.order != nil,
                "seed \(seed), \(script.topic): no serial order explains\n\(text.joined(separator: "\n"))")
        }
        // The order mattered in races of every topic, so that there was something to explain.
        #expect(tally.answered > 0 && tally.refused > 0)
        for topic in RaceScript.Topic.allCases { #expect(tally.contested[topic, default: 0] > 0, "\(topic)") }
    }

    @Test func `races over memory are serial`() async throws {
        try await Self.explain(Race(nodes: [MemoryStore()]), seeds: Self.seeds(1000))
    }

    @Test func `races over SQLite are serial`() async throws {
        try await StoreKind.sqlite.withStore { store in
            try await Self.explain(Race(nodes: [store]), seeds: Self.seeds(1000))
        }
    }

    @Test(.enabled(if: PostgreSQLServer.isInstalled, Comment(rawValue: PostgreSQLServer.absence)))
    func `races of three nodes over PostgreSQL are serial`() async throws {
        let address = try await PostgreSQLServer.shared().makeDatabase()
        let nodes = try (0..<3).map { _ in try PostgreSQLStore(address: address) }
        try await Self.explain(Race(nodes: nodes), seeds: Self.seeds(1000))
        for node in nodes { await node.close() }
    }

    @Test func `a race that goes one at a time follows from its seed`() async throws {
        for seed in UInt64(1)...20 {
            let race = Race(nodes: [MemoryStore()])
            let first = try await race.run(RaceScript(seed: seed), passesSeveral: false)
            let second = try await race.run(RaceScript(seed: seed), passesSeveral: false)
            #expect(first.events.map(\.outcome) == second.events.map(\.outcome))
            #expect(first.events.map(\.ended) == second.events.map(\.ended))
        }
    }

    @Test func `a store without isolation is found out in races of every topic`() async throws {
        let race = Race(nodes: [MemoryStore()]) { TornStore(store: $0, turnstile: $1) }
        var unexplained: Set<RaceScript.Topic> = []
        for seed in UInt64(1)...1000 where unexplained.count < RaceScript.Topic.allCases.count {
            let script = RaceScript(seed: seed)
            if try await race.run(script, passesSeveral: false).order == nil { unexplained.insert(script.topic) }
        }
        #expect(unexplained == Set(RaceScript.Topic.allCases))
    }
}

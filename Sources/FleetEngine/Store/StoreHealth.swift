// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetPostgreSQL
import FleetSigning
import FleetTokens
import Foundation

/// Looks what keeps a store from its work, once for all who ask meanwhile.
///
/// Nobody waits longer than ``limit``. A store that is stuck is not asked again before it has answered.
final class StoreHealth: Sendable {
    /// How long is waited for a store's answer.
    static let limit = Duration.seconds(2)

    private static let late = ["store": "the store did not answer within 2 s"]

    private let store: any EngineStore
    private let now: @Sendable () -> Date
    private let time: TimeSource
    /// Who waits for the look that is under way.
    private let waiting = Locked<[Reply<[String: String]>]>([])

    /// Makes what looks after a store.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - now: This machine's clock.
    ///   - time: Measures the limit.
    init(
        _ store: any EngineStore, now: @escaping @Sendable () -> Date,
        time: TimeSource = TimeSource(clock: ContinuousClock())
    ) {
        self.store = store
        self.now = now
        self.time = time
    }

    /// What is wrong, by check: `store` where it cannot be used, `clock` where this machine's is far from its own.
    func problems() async -> [String: String] {
        let reply = Reply<[String: String]>()
        let isFirst = self.waiting.withLock { waiting in
            waiting.append(reply)
            return waiting.count == 1
        }
        // Unstructured on purpose: nobody waits for a store that is stuck, and who asked first may have gone.
        if isFirst { Task { await self.look() } }
        let timer = Task { [time] in
            try await time.sleep(for: Self.limit)
            reply.give(.success(Self.late))
        }
        defer { timer.cancel() }
        return (try? await reply.wait()) ?? Self.late
    }

    private func look() async {
        let problems = await self.found()
        let waiting = self.waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for reply in waiting { reply.give(.success(problems)) }
    }

    private func found() async -> [String: String] {
        let before = self.now()
        do {
            guard let status = try await self.store.status() else { return [:] }
            var problems: [String: String] = [:]
            problems["store"] = status.takesChanges ? nil : "the store takes no changes"
            problems["clock"] = DatabaseClock(local: (before, self.now()), database: status.time).problem
            return problems
        } catch {
            return ["store": "the store cannot be read"]
        }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetPostgreSQL
import FleetSQLite
import FleetSigning
import Foundation

/// Looks what keeps a store from its work, once for all who ask meanwhile.
///
/// Nobody waits longer than ``limit``. A store that is stuck is not asked again before it has answered.
struct StoreHealth: Sendable {
    /// How long is waited for a store's answer.
    static let limit = Duration.seconds(2)

    private static let takesNoChanges = "the store takes no changes"

    private let look: TimedLook<[String: String]>

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
        let late = ["store": "the store did not answer within 2 s"]
        self.look = TimedLook(within: Self.limit, orElse: late, time: time) {
            await Self.problems(of: store, now: now)
        }
    }

    /// What is wrong, by check: `store` where it cannot be used, `clock` where this machine's is far from its own.
    func problems() async -> [String: String] { await self.look.finding() }

    private static func problems(of store: any EngineStore, now: @Sendable () -> Date) async -> [String: String] {
        let before = now()
        do {
            let status = try await store.status()
            let after = now()
            var problems: [String: String] = [:]
            if let status { problems["clock"] = DatabaseClock(local: (before, after), database: status.time).problem }
            let takesChanges = status?.takesChanges ?? true
            if takesChanges {
                problems["store"] = await Self.problem(changing: store)
            } else {
                problems["store"] = Self.takesNoChanges
            }
            return problems
        } catch {
            return ["store": Self.words("the store cannot be read", for: error)]
        }
    }

    private static func words(_ words: String, for error: any Error) -> String {
        (error as? SQLiteTrouble)?.told(after: words) ?? words
    }

    private static func problem(changing store: any EngineStore) async -> String? {
        do {
            try await store.probe()
            return nil
        } catch let moved as DurableDatabase.FileMoved {
            // Whoever asks need not know where it is.
            return "the store's file \(moved.event); \(EngineError.replacedAdvice)"
        } catch {
            return Self.words(Self.takesNoChanges, for: error)
        }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import Foundation

/// Keys that sign no more without having been withdrawn, such as those whose files hold others now; they stay published
/// until no token of them can be alive.
struct FormerKeys: Sendable {
    private var entries: [(key: RSAPublicKey, until: Date)] = []

    /// Takes note of an exchange.
    ///
    /// - Parameters:
    ///   - keys: The keys that signed until now.
    ///   - present: The ids of the keys that are no former ones: those in force, and those that were retired.
    ///   - now: The time.
    mutating func add(_ keys: [RSAPublicKey], besides present: Set<String>, at now: Date) {
        self.add(keys, at: now) { !present.contains($0) }
    }

    /// Takes note of keys that signed until now, and forgets those that are no former ones any more.
    mutating func add(_ keys: [RSAPublicKey], at now: Date, where isFormer: (_ keyID: String) -> Bool) {
        let until = now.addingTimeInterval(KeySchedule.Times.standard.retention / .seconds(1))
        self.entries.removeAll { $0.until <= now || !isFormer($0.key.id) }
        self.entries += keys.filter { isFormer($0.id) }.map { (key: $0, until: until) }
    }

    /// Whether a key is one of them.
    func contains(_ keyID: String) -> Bool { self.entries.contains { $0.key.id == keyID } }

    /// The keys that verifiers are to trust at a time.
    func published(at time: Date) -> [RSAPublicKey] { self.alive(at: time).map(\.key) }

    /// The same with when each is forgotten, in the order in which they were exchanged.
    func alive(at time: Date) -> [(key: RSAPublicKey, until: Date)] { self.entries.filter { time < $0.until } }
}

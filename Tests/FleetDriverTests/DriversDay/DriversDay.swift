// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport

/// What befalls a driver's phone within 24 hours; everything follows from the seed.
struct DriversDay: Sendable {
    /// A stretch of time in which something is wrong.
    struct Spell: Sendable {
        enum Kind: Sendable {
            /// No network at all.
            case tunnel
            /// The token server answers with errors, or not at all; the engine works.
            case outage(isSilent: Bool)
            /// Everything takes seconds.
            case slow
        }
        let kind: Kind
        let from: Duration
        let until: Duration
    }

    static let length = Duration.seconds(86_400)
    static let interval = Duration.seconds(10)
    /// The life of a token on arrival at most, as our server mints it.
    static let tokenLife = Duration.seconds(3300)
    static let vehicles = 3
    /// How long a report waits that could have a valid token.
    static let patience = Duration.seconds(2)

    let seed: UInt64
    let spells: [Spell]
    /// When the driver changes vehicles, first for 0.1 s to another one, so that its token is on its way meanwhile.
    let switches: [Duration]
    /// When the engine refuses a good token once.
    let refusals: [Duration]
    /// When the phone is asleep or the process suspended, and for how long.
    let sleeps: [(at: Duration, length: Duration)]
    /// When the user changes the phone's date, and by how much.
    let dateChanges: [(at: Duration, by: Duration)]

    init(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        func moments(_ count: Int) -> [Duration] {
            (0..<count).map { _ in random.duration(in: .seconds(300)...Self.length - .seconds(7200)) }.sorted()
        }
        // The first outage begins before the first refresh can, and ends after the first token is over.
        let outages = [random.duration(in: .seconds(2500) ... .seconds(2680))] + moments(2)
        let tunnels = moments(4)
        let slows = moments(3)
        self.seed = seed
        self.switches = moments(5)
        self.refusals = moments(3)
        self.sleeps = moments(3).map { ($0, random.duration(in: .seconds(60) ... .seconds(9000))) }
        self.dateChanges = moments(6).map { ($0, random.duration(in: .seconds(-20_000) ... .seconds(20_000))) }
        self.spells =
            outages.map {
                Spell(kind: .outage(isSilent: random.chance(0.5)), from: $0, until: $0 + .seconds(2400))
            } + tunnels.map { Spell(kind: .tunnel, from: $0, until: $0 + .seconds(720)) }
            + slows.map { Spell(kind: .slow, from: $0, until: $0 + .seconds(1800)) }
    }

    // MARK: - At a moment

    func isNetworkUp(at now: Duration) -> Bool {
        !self.spells(at: now).contains { if case .tunnel = $0.kind { true } else { false } }
    }

    /// What keeps an answer of the token server from coming: nothing, or something silent or loud.
    func tokenTrouble(at now: Duration) -> (isTroubled: Bool, isSilent: Bool) {
        var isTroubled = false
        for spell in self.spells(at: now) {
            switch spell.kind {
            case .tunnel: isTroubled = true
            case .outage(true): return (true, true)
            case .outage(false): isTroubled = true
            case .slow: break
            }
        }
        return (isTroubled, false)
    }

    func latency(at now: Duration, _ random: inout SeededGenerator) -> Duration {
        let isSlow = self.spells(at: now).contains { if case .slow = $0.kind { true } else { false } }
        return isSlow
            ? random.duration(in: .seconds(1) ... .milliseconds(3500))
            : random.duration(in: .milliseconds(30) ... .milliseconds(900))
    }

    /// The last moment up to now at which the token server could not be reached.
    func lastTokenTrouble(before now: Duration) -> Duration? {
        let ends = self.spells.filter { spell in
            if case .slow = spell.kind { false } else { spell.from <= now }
        }.map { min($0.until, now) }
        return ends.max()
    }

    private func spells(at now: Duration) -> [Spell] {
        self.spells.filter { $0.from <= now && now < $0.until }
    }
}

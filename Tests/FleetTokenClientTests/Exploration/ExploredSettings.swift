// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens

/// What the exploration plays with: settings scaled down to few ticks, and the answers that can come.
final class ExploredSettings: Sendable {
    /// All events happen at multiples of this.
    static let tick = Duration.seconds(30)
    static let goodLife = ExploredSettings.tick * 8

    let configuration: TokenCacheConfiguration
    let subjects: [TokenSubject]
    /// How many calls wait for one subject at most.
    let waiters: Int
    /// Generators whose first draw lies near the lower and near the upper end of [0, 1).
    let early: SplitMix64
    let late: SplitMix64
    /// More tokens than a subject can remember at a time.
    let tokens: [FleetToken]
    private let grants: [ExploredStep.Kind: [TokenGrant]]

    init(subjects: Int, capacity: Int, waiters: Int) {
        self.configuration = TokenCacheConfiguration(
            capacity: capacity, minimumLife: Self.tick * 2, refreshBefore: Self.tick * 5, fetchTimeout: Self.tick * 2,
            patience: Self.tick, backOffBase: Self.tick, backOffCap: Self.tick * 2, retryAfterLimit: Self.tick * 3,
            refusalsPerMinute: 2)
        let vehicles = ["veh-1", "veh-2"].compactMap { VehicleID($0).map { TokenSubject.driver($0) } }
        self.subjects = Array(([.fleetReader] + vehicles).prefix(subjects))
        self.waiters = waiters
        self.early = Self.generator(drawing: 0..<0.1)
        self.late = Self.generator(drawing: 0.9..<1)
        let tokens = (0..<5).map { FleetToken("token-\($0)") }
        self.tokens = tokens
        let answers: [(ExploredStep.Kind, Duration, Duration?)] = [
            (.good, Self.goodLife, nil), (.goodLate, Self.goodLife, nil),
            (.goodWithMoment, Self.goodLife, Self.tick * 2), (.short, Self.tick * 3, nil),
            (.tiny, Self.tick * 2, nil), (.over, .zero, nil), (.refusedAgain, Self.goodLife, nil),
            (.same, Self.goodLife, nil), (.restore, Self.tick * 5, nil),
        ]
        self.grants = Dictionary(
            uniqueKeysWithValues: answers.map { kind, life, moment in
                (kind, tokens.map { TokenGrant(token: $0, life: life, refreshAfter: moment) })
            })
    }

    /// An answer with a token that is none of the given ones.
    func grant(_ kind: ExploredStep.Kind, unlike held: FleetToken?, _ refusals: [FleetToken]) -> TokenGrant? {
        self.grants[kind]?.first { $0.token != held && !refusals.contains($0.token) }
    }

    /// An answer with one of the tokens.
    func grant(_ kind: ExploredStep.Kind, with token: FleetToken) -> TokenGrant? {
        self.grants[kind]?.first { $0.token == token }
    }

    private static func generator(drawing range: Range<Double>) -> SplitMix64 {
        for seed in 0..<UInt64(10_000) {
            var generator = SplitMix64(seed: seed)
            if range.contains(Double.random(in: 0..<1, using: &generator)) { return SplitMix64(seed: seed) }
        }
        return SplitMix64(seed: 0)
    }
}

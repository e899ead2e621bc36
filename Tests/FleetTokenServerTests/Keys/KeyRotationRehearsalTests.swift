// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenServer
import Foundation
import Testing

/// A rehearsal: keys change while every server and every verifier sees the change at a time of its own.
@Suite struct KeyRotationRehearsalTests {
    /// How late servers read the folder, and how wrong their clocks are, in seconds.
    private static let servers: [(lag: Double, clock: Double)] = [
        (0, -300), (0, 0), (0, 300), (2, -300), (2, 0), (2, 300),
    ]
    /// How old the key sets are that verifiers hold, in seconds.
    private static let caches = [0.0, 2, 150, 299, 300]

    /// When keys were made known, in seconds, after the first.
    static let rotations: [[Double]] = [[0], [0, 601], [0, 3600, 7200], [0, 700, 1400, 2100, 20_000]]

    /// The refused tokens, of all that servers mint and verifiers judge, at any order of caches.
    private func refusals(_ rotations: [Double], _ times: KeySchedule.Times) -> Int {
        func date(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds) }
        /// The keys that were made known by a time, oldest first.
        func schedule(at time: Double) -> (schedule: KeySchedule, count: Int) {
            let published = [Date.distantPast] + rotations.map(date).filter { $0 <= date(time) }
            return (KeySchedule(published: published, times: times), published.count)
        }
        let moments = rotations.flatMap { rotation in
            stride(from: -1.0, through: 6000, by: 13).map { rotation + $0 }
        }
        var refusals = 0
        for server in Self.servers {
            for mintedAt in moments {
                let key = schedule(at: mintedAt - server.lag).schedule.signing(at: date(mintedAt + server.clock))
                for age in [0.0, 1, 1800, 3299] {
                    for cache in Self.caches {
                        let readAt = mintedAt + age - cache
                        let known = schedule(at: readAt)
                        // The key set may come from another server, whose clock is ahead and withdraws early.
                        let holds = key.map { key in
                            key < known.count && known.schedule.state(of: key, at: date(readAt + 300)) != .retired
                        }
                        if holds != true { refusals += 1 }
                    }
                }
            }
        }
        return refusals
    }

    @Test(arguments: rotations)
    func `no good token is refused for its key, whatever the order of caches`(rotations: [Double]) {
        #expect(self.refusals(rotations, .standard) == 0)
    }

    @Test func `the rehearsal sees a key that signs or goes too early`() {
        #expect(self.refusals([0], KeySchedule.Times(lead: .seconds(0), retention: .seconds(4200))) > 0)
        #expect(self.refusals([0, 700], KeySchedule.Times(lead: .seconds(600), retention: .seconds(600))) > 0)
    }

    @Test func `a key is published, signs, retires and is retired`() {
        let schedule = KeySchedule(published: [.distantPast, Date(timeIntervalSince1970: 1000)])
        func states(_ seconds: Double) -> [KeySchedule.State] {
            [0, 1].map { schedule.state(of: $0, at: Date(timeIntervalSince1970: seconds)) }
        }
        #expect(states(1000) == [.signing, .published])
        #expect(states(1599) == [.signing, .published])
        #expect(states(1600) == [.retiring, .signing])
        #expect(states(5799) == [.retiring, .signing])
        #expect(states(5800) == [.retired, .signing])
    }
}

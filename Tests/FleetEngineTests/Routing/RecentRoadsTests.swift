// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Testing

@testable import FleetEngine

@Suite struct RecentRoadsTests {
    private static func way(_ points: Int) -> KnownRoad {
        .way(RouteEstimate(meters: 1, duration: .seconds(1), path: Array(repeating: .at(1, 2), count: points)))
    }

    /// Which of the legs up to a number are known.
    private static func known(_ roads: RecentRoads<Int>, upTo count: Int) -> [Int] {
        (0..<count).filter { leg in
            // A look would be a use.
            var copy = roads
            return copy[leg] != nil
        }
    }

    @Test func `what was used lately is kept, of as many legs as there may be`() {
        var roads = RecentRoads<Int>(capacity: 10)
        for leg in 0..<12 {
            roads[leg] = .noRoad
            #expect(roads[0] == .noRoad)
        }
        let known = Self.known(roads, upTo: 12)
        #expect(known.count <= 10 && Set(known).isSuperset(of: [0, 8, 9, 10, 11]))
        #expect(!known.contains(1))
    }

    @Test(arguments: [1, 200, 300, 999])
    func `ways of many points leave room for fewer`(points: Int) {
        var roads = RecentRoads<Int>(capacity: 100)
        for leg in 0..<1000 { roads[leg] = Self.way(points) }
        let known = Self.known(roads, upTo: 1000)
        #expect(known.count * points <= 100 * 200 && known.count <= 100)
        #expect(known.count >= min(50, 50 * 200 / points) && known.last == 999)
    }

    @Test func `the longest way is kept for itself, and what takes its place counts in its stead`() {
        var roads = RecentRoads<Int>(capacity: 10)
        for leg in 0..<3 {
            roads[leg] = Self.way(100_000)
            #expect(roads[leg] == Self.way(100_000))
        }
        #expect(Self.known(roads, upTo: 3) == [1, 2])
        roads[2] = .noRoad
        roads[3] = .noRoad
        #expect(Self.known(roads, upTo: 4) == [1, 2, 3])
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import Testing

@Suite struct SeededWorldTests {
    @Test func `events come in the order of their moments, and of laying at equal moments`() {
        var world = SeededWorld<Int>(seed: 1)
        var laid: [(due: Duration, number: Int)] = []
        for number in 0..<500 {
            let due = Duration.seconds(Int.random(in: 0..<50, using: &world.random))
            world.schedule(number, after: due)
            laid.append((due, number))
        }
        var came: [Int] = []
        while let event = world.next() {
            came.append(event)
            #expect(world.now == laid[event].due)
        }
        #expect(came == laid.sorted { ($0.due, $0.number) < ($1.due, $1.number) }.map(\.number))
    }

    @Test func `what fell due while the device slept comes late, in order`() {
        var world = SeededWorld<String>(seed: 1)
        world.schedule("second", after: .seconds(20))
        world.schedule("first", after: .seconds(10))
        world.skip(.seconds(60))
        #expect(world.next() == "first" && world.now == .seconds(60))
        #expect(world.next() == "second" && world.now == .seconds(60))
        #expect(world.next() == nil)
    }

    @Test func `equal seeds give equal chances, other seeds others`() {
        func draws(_ seed: UInt64) -> [UInt64] {
            var generator = SeededGenerator(seed: seed)
            return (0..<10).map { _ in generator.next() }
        }
        #expect(draws(7) == draws(7))
        #expect(draws(7) != draws(8))
    }

    @Test func `a chance is met as often as it should be, and a duration stays in its range`() {
        var generator = SeededGenerator(seed: 3)
        let met = (0..<10_000).filter { _ in generator.chance(0.25) }.count
        #expect((2300...2700).contains(met))
        #expect(
            (0..<1000).allSatisfy { _ in
                (Duration.seconds(2) ... .seconds(3)).contains(generator.duration(in: .seconds(2) ... .seconds(3)))
            })
    }
}

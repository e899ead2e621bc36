// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import Testing

@Suite struct BroadcastTests {
    @Test(arguments: [(-1, [3]), (0, [3]), (1, [3]), (2, [2, 3]), (9, [0, 1, 2, 3])])
    func `a slow reader misses the oldest elements, and never the newest`(newest: Int, heard: [Int]) async {
        let broadcast = Broadcast<Int>()
        let stream = broadcast.stream(bufferingNewest: newest, after: [0, 1])
        broadcast.send(2)
        broadcast.send(3)
        broadcast.finish()
        var elements: [Int] = []
        for await element in stream { elements.append(element) }
        #expect(elements == heard)
    }

    @Test func `who comes when all is over hears what is known and no more`() async {
        let broadcast = Broadcast<Int>()
        let stream = broadcast.stream(bufferingNewest: 9, after: [0, 1], isOver: true)
        broadcast.send(2)
        var elements: [Int] = []
        for await element in stream { elements.append(element) }
        #expect(elements == [0, 1])
    }
}

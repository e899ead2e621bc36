// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Testing

@Suite struct RecentEntriesTests {
    @Test func `memory is bounded, and the latest are remembered`() {
        var entries = RecentEntries<Int, Int>(capacity: 100)
        for key in 0..<10_000 {
            entries[key] = key
            #expect(entries.count <= 100)
            #expect(entries[key] == key)
            if key >= 49 { #expect((key - 49...key).allSatisfy { entries[$0] == $0 }) }
        }
        #expect(entries[500] == nil)
        entries[9_999] = nil
        #expect(entries[9_999] == nil)
        entries.removeAll()
        #expect(entries.count == 0)
    }

    @Test(arguments: [2, 3, 10, 100])
    func `what is used again and again is never forgotten`(capacity: Int) {
        var entries = RecentEntries<Int, Int>(capacity: capacity)
        entries[-1] = 7
        for key in 0..<1000 {
            entries[key] = key
            #expect(entries[-1] == 7)
            #expect(entries.count <= capacity)
        }
    }

    @Test func `what is set again takes its place once, and drops nothing`() {
        var entries = RecentEntries<Int, Int>(capacity: 4)
        for key in 0..<4 { entries[key] = key }
        #expect(entries.count == 4)
        // The young half, 2 and 3, is full.
        for round in 0..<10 { entries[3] = round }
        #expect(entries.count == 4)
        #expect(entries[0] == 0)
        // Set anew while it is in the old half.
        entries[2] = 20
        #expect(entries.count == 3)
        #expect(entries[2] == 20)
        #expect(entries[3] == 9)
    }

    @Test func `a value that may be missing is held as missing`() {
        var entries = RecentEntries<Int, Int?>(capacity: 4)
        entries[1] = .some(nil)
        #expect(entries[1] == .some(nil))
        #expect(entries[2] == .none)
    }

    @Test(arguments: [-1, 0, 1])
    func `without room nothing is held`(capacity: Int) {
        var entries = RecentEntries<Int, Int>(capacity: capacity)
        #expect(!entries.holdsAnything)
        entries[1] = 1
        #expect(entries[1] == nil)
        #expect(entries.count == 0)
    }
}

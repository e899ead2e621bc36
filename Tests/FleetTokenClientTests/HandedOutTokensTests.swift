// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens
import Testing

@Suite struct HandedOutTokensTests {
    @Test func `of each subject the newest token is remembered, and once`() throws {
        var tokens = HandedOutTokens()
        let (first, second) = try (TripID(checking: "a"), TripID(checking: "b"))
        for number in 1...40 { tokens.note(FleetToken("a\(number)"), for: .consumer(first)) }
        tokens.note(FleetToken("b"), for: .consumer(second))
        for number in 41...80 { tokens.note(FleetToken("a\(number)"), for: .consumer(first)) }
        #expect(tokens.takeNewest { subject, _ in subject == .consumer(first) }?.token == FleetToken("a80"))
        #expect(tokens.takeNewest { subject, _ in subject == .consumer(first) } == nil)
        #expect(tokens.takeNewest { _, _ in true }?.token == FleetToken("b"))
        #expect(tokens.takeNewest { _, _ in true } == nil)
    }
}

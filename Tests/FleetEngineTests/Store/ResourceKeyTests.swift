// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import FleetEngine

@Suite struct ResourceKeyTests {
    @Test func `keys are in the order of their bytes, by provider and then by id`() {
        let ordered = [("a", "z"), ("b", "B"), ("b", "a"), ("b", "z\u{301}"), ("b", "\u{E9}"), ("b\u{301}", "a")]
            .map { ResourceKey(collection: .vehicles, provider: $0.0, id: $0.1) }
        for (index, key) in ordered.enumerated() {
            for (place, other) in ordered.enumerated() {
                #expect((key < other) == (index < place), "\(key) \(other)")
            }
        }
    }
}

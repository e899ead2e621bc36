// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import FleetEngine

@Suite struct RememberedTests {
    @Test func `all is dropped when one more comes, and nothing when a value takes another's place`() {
        let remembered = Remembered<Int>(capacity: 2)
        remembered.keep(1, for: "one")
        remembered.keep(2, for: "two")
        remembered.keep(22, for: "two")
        #expect(remembered["one"] == 1 && remembered["two"] == 22)
        remembered.keep(3, for: "three")
        #expect(remembered.count == 1 && remembered["one"] == nil && remembered["three"] == 3)
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetPostgreSQL
import Foundation
import Testing

@Suite struct DatabaseClockTests {
    private static let start = Date(timeIntervalSince1970: 1_767_225_600)

    private static func clocks(_ database: Double) -> DatabaseClock {
        DatabaseClock(local: (self.start, self.start + 10), database: self.start + database)
    }

    @Test(arguments: [(0.0, 0.0), (5, 0), (10, 0), (-3, 3), (14, -4)])
    func `the time that a question took is not held against a clock`(database: Double, ahead: Double) {
        #expect(Self.clocks(database).ahead == ahead)
    }

    @Test func `a clock that is too far off is told with the way it is off`() {
        #expect(Self.clocks(-5).problem == nil && Self.clocks(15).problem == nil)
        #expect(Self.clocks(-6).problem == "the clock is 6 s ahead of the database's")
        #expect(Self.clocks(16).problem == "the clock is 6 s behind the database's")
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Counts what concurrent code does.
final class Counter: Sendable {
    private let number = Locked(0)

    var value: Int { self.number.withLock { $0 } }

    /// Counts one more, and gives the new number.
    @discardableResult
    func next() -> Int {
        self.number.withLock { number in
            number += 1
            return number
        }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// How many calls of a kind are at work at once, and no more than a maximum.
struct CallPlaces: Sendable {
    private let maximum: Int
    private let taken = Locked(0)

    init(_ maximum: Int) {
        self.maximum = maximum
    }

    /// Takes a place, which is to be given back.
    ///
    /// - Returns: Whether there was one.
    func take() -> Bool {
        self.taken.withLock { taken in
            guard taken < self.maximum else { return false }
            taken += 1
            return true
        }
    }

    /// Gives a place back.
    func giveBack() {
        self.taken.withLock { $0 -= 1 }
    }
}

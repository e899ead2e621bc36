// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Values by a text, up to a number of them; all are dropped when one more comes.
///
/// What is remembered can be made again, so that nothing needs to be kept of which is older.
final class Remembered<Value: Sendable>: Sendable {
    private let capacity: Int
    private let values = Locked<[String: Value]>([:])

    /// Makes an empty memory.
    ///
    /// - Parameter capacity: How many values have their place.
    init(capacity: Int) {
        self.capacity = capacity
    }

    /// How many values are remembered now.
    var count: Int { self.values.withLock { $0.count } }

    /// The value of a text, if it is remembered.
    subscript(key: String) -> Value? { self.values.withLock { $0[key] } }

    /// Remembers a value, in place of the one that the text had.
    func keep(_ value: Value, for key: String) {
        self.values.withLock { values in
            if values.count >= self.capacity, values[key] == nil { values.removeAll(keepingCapacity: true) }
            values[key] = value
        }
    }
}

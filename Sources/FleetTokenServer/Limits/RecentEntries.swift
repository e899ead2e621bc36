// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A dictionary that keeps what was used lately and forgets the rest, in constant time and bounded space.
///
/// It has two halves: what is used moves to the young one, and when that is full the old one is dropped. Whatever is
/// among the last `capacity / 2` different keys is still there.
struct RecentEntries<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let half: Int
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]

    /// Makes an empty one.
    ///
    /// - Parameter capacity: The most entries to hold, at least 2.
    init(capacity: Int) {
        self.half = max(1, capacity / 2)
    }

    var count: Int { self.young.count + self.old.count }

    subscript(key: Key) -> Value? {
        mutating get {
            if let value = self.young[key] { return value }
            guard let value = self.old.removeValue(forKey: key) else { return nil }
            self.keep(value, for: key)
            return value
        }
        set {
            self.old[key] = nil
            if let newValue {
                self.keep(newValue, for: key)
            } else {
                self.young[key] = nil
            }
        }
    }

    private mutating func keep(_ value: Value, for key: Key) {
        if self.young[key] == nil, self.young.count >= self.half {
            self.old = self.young
            self.young = [:]
        }
        self.young[key] = value
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A dictionary that holds a bounded number of entries and forgets those that were not looked at for longest.
///
/// Two generations: new and used entries are in the younger; when it is full it becomes the older, and the older goes.
struct RouteCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The most entries that are held.
    let capacity: Int
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]

    init(capacity: Int) {
        self.capacity = max(2, capacity)
    }

    /// How many entries are held.
    var count: Int { self.young.count + self.old.count }

    /// What is held of a key, which is thereby used.
    mutating func value(of key: Key) -> Value? {
        if let value = self.young[key] { return value }
        guard let value = self.old.removeValue(forKey: key) else { return nil }
        self.put(value, at: key)
        return value
    }

    /// Holds a value.
    mutating func put(_ value: Value, at key: Key) {
        self.old[key] = nil
        if self.young[key] == nil, self.young.count >= self.capacity / 2 {
            self.old = self.young
            self.young = [:]
        }
        self.young[key] = value
    }
}

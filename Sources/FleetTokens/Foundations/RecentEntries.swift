// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A dictionary that keeps what was used lately and forgets the rest, in constant time and bounded space.
///
/// It has two halves: what is used moves to the young one, and when that is full the old one is dropped. Whatever is
/// among the last `capacity / 2` different keys is still there.
///
/// Usable from inline, as only then do other modules of the package have it for their own keys and values.
@usableFromInline package struct RecentEntries<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline let half: Int
    @usableFromInline var young: [Key: Value] = [:]
    @usableFromInline var old: [Key: Value] = [:]

    /// Makes an empty one.
    ///
    /// - Parameter capacity: The most entries to hold; fewer than 2 hold nothing.
    @inlinable package init(capacity: Int) {
        self.half = max(0, capacity / 2)
    }

    /// Whether anything can be held.
    @inlinable package var holdsAnything: Bool { self.half > 0 }

    /// How many entries are held.
    @inlinable package var count: Int { self.young.count + self.old.count }

    /// What is held of a key, which is thereby used.
    @inlinable package subscript(key: Key) -> Value? {
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

    /// Forgets everything.
    @inlinable package mutating func removeAll() {
        self.young = [:]
        self.old = [:]
    }

    @inlinable mutating func keep(_ value: Value, for key: Key) {
        guard self.holdsAnything else { return }
        if self.young.count >= self.half, self.young[key] == nil {
            self.old = self.young
            self.young = [:]
        }
        self.young[key] = value
    }
}

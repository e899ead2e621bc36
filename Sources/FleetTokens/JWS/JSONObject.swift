// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// The members of a JSON object; a key stands once, and their order plays no part.
///
/// A token's objects have six members or fewer, which a list finds faster than a hash table does.
package struct JSONObject: Sendable {
    package typealias Member = (key: String, value: JSONValue)

    private var members: [Member]

    /// An object without members.
    package init() {
        self.members = []
    }

    /// An object of members whose keys are known to differ.
    init(distinct members: [Member]) {
        self.members = members
    }

    /// An object with the members of a dictionary.
    package init(_ dictionary: [String: JSONValue]) {
        self.members = dictionary.map { ($0.key, $0.value) }
    }

    /// The members in the order of their keys.
    var sorted: [Member] {
        let isSorted = zip(self.members, self.members.dropFirst()).allSatisfy { $0.key < $1.key }
        return isSorted ? self.members : self.members.sorted { $0.key < $1.key }
    }

    /// The keys.
    package var keys: [String] { self.members.map(\.key) }

    /// The member of this key, or `nil`; set it to add, replace or remove one.
    package subscript(key: String) -> JSONValue? {
        get {
            // By its place, so that no other member's value is copied on the way.
            for place in self.members.indices where self.members[place].key == key { return self.members[place].value }
            return nil
        }
        set {
            guard let index = self.members.firstIndex(where: { $0.key == key }) else {
                if let newValue { self.members.append((key, newValue)) }
                return
            }
            if let newValue {
                self.members[index].value = newValue
            } else {
                self.members.remove(at: index)
            }
        }
    }
}

extension JSONObject: RandomAccessCollection {
    package var startIndex: Int { self.members.startIndex }
    package var endIndex: Int { self.members.endIndex }
    package subscript(position: Int) -> Member { self.members[position] }
}

extension JSONObject: Hashable {
    package static func == (first: Self, second: Self) -> Bool {
        first.members.count == second.members.count && first.members.allSatisfy { second[$0.key] == $0.value }
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(Set(self.keys))
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// An object of these members; one without a value is left out.
    package init(dictionaryLiteral elements: (String, JSONValue?)...) {
        self.init()
        self.members.reserveCapacity(elements.count)
        var isSorted = true
        for (key, value) in elements {
            // A key that comes after all others is none of them.
            isSorted = isSorted && self.members.last.map { $0.key < key } ?? true
            if isSorted, let value {
                self.members.append((key, value))
            } else {
                self[key] = value
            }
        }
    }
}

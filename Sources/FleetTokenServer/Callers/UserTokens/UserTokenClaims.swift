// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// The claims that rules can look at: strings and lists of strings, of bounded size.
enum UserTokenClaims {
    /// How many claims inside objects there are; those of the token's own level are as many as it has.
    static let maximumNested = 256
    static let maximumValues = 128
    static let maximumBytes = 512
    /// Claims inside objects are reached by a path with dots, such as `realm_access.roles`, so deep.
    static let maximumDepth = 3

    /// The claims by name; what is too long is left out, and what is spelt the same in two places, whatever they hold.
    ///
    /// Leaving out is safe because rules only ever grant for what is there.
    static func lists(in claims: JSONObject) -> [String: [String]] {
        var found: [String: [String]] = [:]
        var depths: [String: Int] = [:]
        var ambiguous: Set<String> = []
        self.collect(claims, path: "", depth: 1) { name, depth, values in
            if depths.updateValue(depth, forKey: name) != nil { ambiguous.insert(name) }
            found[name] = values
        }
        for name in ambiguous { found[name] = nil }
        // A path is as long as all its names, so many paths can be far longer than the token.
        let nested = depths.filter { $0.value > 1 && found[$0.key] != nil }
        guard nested.count > self.maximumNested else { return found }
        let order = nested.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        for claim in order.dropFirst(self.maximumNested) { found[claim.key] = nil }
        return found
    }

    /// Tells each name that a claim has, how deep it lies, and its values where rules can look at them.
    private static func collect(
        _ members: JSONObject, path: String, depth: Int, into body: (String, Int, [String]?) -> Void
    ) {
        for (key, value) in members {
            let name = path + key
            guard !key.isEmpty, name.utf8.count <= self.maximumBytes else { continue }
            body(name, depth, depth <= self.maximumDepth ? self.strings(value) : nil)
            if let object = value.object { self.collect(object, path: name + ".", depth: depth + 1, into: body) }
        }
    }

    private static func strings(_ value: JSONValue) -> [String]? {
        let elements = value.array ?? [value]
        let texts = elements.compactMap(\.string)
        guard texts.count == elements.count, texts.count <= self.maximumValues,
            texts.allSatisfy({ $0.utf8.count <= self.maximumBytes })
        else { return nil }
        return texts
    }
}

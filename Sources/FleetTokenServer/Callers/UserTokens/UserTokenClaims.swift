// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// The claims that rules can look at: strings and lists of strings, of bounded size.
enum UserTokenClaims {
    static let maximumClaims = 64
    static let maximumValues = 128
    static let maximumBytes = 512
    /// Claims inside objects are reached by a path with dots, such as `realm_access.roles`, so deep.
    static let maximumDepth = 3

    /// The claims by name; what is too long is left out, and what is spelt the same in two places, whatever they hold.
    ///
    /// Leaving out is safe because rules only ever grant for what is there.
    static func lists(in claims: JSONObject) -> [String: [String]] {
        var found: [String: [String]] = [:]
        var names: Set<String> = []
        var ambiguous: Set<String> = []
        self.collect(claims, path: "", depth: 1) { name, values in
            if !names.insert(name).inserted { ambiguous.insert(name) }
            found[name] = values
        }
        for name in ambiguous { found[name] = nil }
        guard found.count > self.maximumClaims else { return found }
        let kept = found.keys.sorted().prefix(self.maximumClaims)
        return found.filter { kept.contains($0.key) }
    }

    /// Tells each name that a claim has, with its values where rules can look at them.
    private static func collect(
        _ members: JSONObject, path: String, depth: Int, into body: (String, [String]?) -> Void
    ) {
        for (key, value) in members {
            let name = path + key
            guard !key.isEmpty, name.utf8.count <= self.maximumBytes else { continue }
            body(name, depth <= self.maximumDepth ? self.strings(value) : nil)
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

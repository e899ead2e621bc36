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

    /// The claims by name; what is too long, or has two names that are spelt the same, is left out.
    ///
    /// Leaving out is safe because rules only ever grant for what is there.
    static func lists(in claims: JSONObject) -> [String: [String]] {
        var found: [String: [String]] = [:]
        var ambiguous: Set<String> = []
        self.collect(claims, path: "", depth: 1) { name, values in
            if found.updateValue(values, forKey: name) != nil { ambiguous.insert(name) }
        }
        for name in ambiguous { found[name] = nil }
        guard found.count > self.maximumClaims else { return found }
        let kept = found.keys.sorted().prefix(self.maximumClaims)
        return found.filter { kept.contains($0.key) }
    }

    private static func collect(
        _ members: JSONObject, path: String, depth: Int, into body: (String, [String]) -> Void
    ) {
        for (key, value) in members {
            let name = path + key
            guard !key.isEmpty, name.utf8.count <= self.maximumBytes else { continue }
            if let object = value.object {
                guard depth < self.maximumDepth else { continue }
                self.collect(object, path: name + ".", depth: depth + 1, into: body)
            } else if let values = self.strings(value) {
                body(name, values)
            }
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

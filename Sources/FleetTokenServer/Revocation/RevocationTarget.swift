// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Whose tokens are withdrawn.
public enum RevocationTarget: Hashable, Sendable {
    /// One token.
    case fingerprint(String)
    /// Every token of a key, those included that no record tells of.
    case key(String)
    /// Every token that a caller got, by its name.
    case caller(String)
    /// Every token that a subject got.
    case subject(String)
    /// Every token whose claims name the resource; not those for everything.
    case resource(AssignedResource)

    /// What is wrong with its value, beginning with a verb; `nil` where a token can have such a one.
    package var fault: String? {
        let longest: Int
        switch self {
        case .fingerprint(let text):
            let isFingerprint = text.utf8.count == 16 && text.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
            guard !isFingerprint else { return nil }
            return "is no fingerprint, which is 16 hexadecimal digits in lower case, as logs and the audit show it"
        // A name is whatever a login says of its user, and is only looked up: verifiers never see it.
        case .caller: longest = UserTokenClaims.maximumBytes
        case .key, .subject, .resource: longest = 256
        }
        // Not every store keeps one.
        guard !self.value.utf8.contains(0) else { return "holds U+0000, and no token has such a one" }
        let count = self.value.utf8.count
        guard !(1...longest).contains(count) else { return nil }
        let size = count == 0 ? "empty" : "\(count) bytes long"
        return "is \(size), and no token has such a one; pass 1 to \(longest) bytes"
    }

    /// A text that stands, as it is, in every record that is meant; `nil` where there is none.
    var mentioned: String? {
        guard case .caller(let name) = self else { return self.value }
        // A login may have spelt the name in another, equivalent way: what no other spelling changes is looked for.
        return name.partsSpeltOneWay.max { $0.utf8.count < $1.utf8.count }
    }
}

extension String {
    /// The parts of a text that every equivalent text has too.
    ///
    /// Each is of ASCII alone, without the letter before an accent, as both together may be one character, and without `K`,
    /// `;` and the grave accent, which U+212A, U+037E and U+1FEF are equivalent to.
    fileprivate var partsSpeltOneWay: [String] {
        var parts: [String] = []
        var part = String.UnicodeScalarView()
        for scalar in self.unicodeScalars {
            guard scalar.isASCII, !"K;`".unicodeScalars.contains(scalar) else {
                if !scalar.isASCII, !part.isEmpty { part.removeLast() }
                parts.append(String(part))
                part.removeAll()
                continue
            }
            part.append(scalar)
        }
        return (parts + [String(part)]).filter { !$0.isEmpty }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// The two spellings of field names.
package enum FieldName {
    /// The paths of an update mask that is one text, whatever they are, as they are spelt: refusals quote them.
    ///
    /// Nothing is trimmed or left out: a path that is empty or begins with a blank names no field, and access is decided
    /// by it.
    package static func paths(ofMask mask: String) -> [String] {
        guard !mask.isEmpty else { return [] }
        return mask.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
    }

    /// The name as JSON spells it: `vehicle_state` is `vehicleState`, which stays as it is.
    static func camelCase(_ name: some StringProtocol) -> String {
        guard name.utf8.contains(UInt8(ascii: "_")) else { return String(name) }
        var words = name.split(separator: "_", omittingEmptySubsequences: false)[...]
        let first = String(words.popFirst() ?? "")
        return words.reduce(into: first) { result, word in
            // An underscore that starts no word is kept, so that the name stays unknown.
            result += word.isEmpty ? "_" : word.prefix(1).uppercased() + word.dropFirst()
        }
    }

    /// The name as the contract spells it: `vehicleState` is `vehicle_state`; must agree with the reading of masks for
    /// access.
    static func snakeCase(_ name: some StringProtocol) -> String {
        guard name.utf8.contains(where: { (0x41...0x5a).contains($0) }) else { return String(name) }
        var result = ""
        for character in name {
            if character.isASCII, character.isUppercase {
                result += "_" + character.lowercased()
            } else {
                result.append(character)
            }
        }
        return result
    }

    /// Whether a path, in either spelling, is the same as one in snake case, a part of it, or what it is a part of.
    static func meets(_ path: String, _ field: String) -> Bool {
        let (dot, underscore) = (UInt8(ascii: "."), UInt8(ascii: "_"))
        var (left, right) = (path.utf8.makeIterator(), field.utf8.makeIterator())
        while true {
            guard var byte = left.next() else { return right.next().map { $0 == dot } ?? true }
            guard var other = right.next() else { return byte == dot }
            if (0x41...0x5a).contains(byte) {
                guard other == underscore, let next = right.next() else { return false }
                other = next
                byte |= 0x20
            }
            guard byte == other else { return false }
        }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// The parts of a path between its slashes, one after another; there is one more of them than there are slashes.
package struct PathSegments: Sequence, IteratorProtocol {
    // By bytes: no other character holds that of a slash.
    private var rest: Substring.UTF8View?

    /// Begins with the first part.
    package init(_ path: Substring) {
        self.rest = path.utf8
    }

    /// The next part, which may be empty; `nil` after the last.
    package mutating func next() -> Substring? {
        guard let rest else { return nil }
        guard let slash = rest.firstIndex(of: UInt8(ascii: "/")) else {
            self.rest = nil
            return Substring(rest)
        }
        self.rest = rest[rest.index(after: slash)...]
        return Substring(rest[..<slash])
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// The keys that were retired in a folder: a line for each, of its role, a blank and its id.
///
/// A line of earlier versions is an id alone, which is retired for every role.
struct RetiredKeys: Sendable {
    private var lines: Set<String>

    /// What a file holds.
    var text: String { self.lines.sorted().joined(separator: "\n") }

    /// Whether there is none.
    var isEmpty: Bool { self.lines.isEmpty }

    /// The ids of the keys, whatever their roles.
    var ids: Set<String> {
        Set(
            self.lines.map { line in
                guard let blank = line.firstIndex(of: " "),
                    Role.known.contains(Role(rawValue: String(line[..<blank])))
                else { return line }
                return String(line[line.index(after: blank)...])
            })
    }

    /// Reads what a file holds.
    init(text: String) {
        self.lines = Set(text.split(separator: "\n").map(String.init))
    }

    /// Whether a key was retired from a role; another role may have the same key.
    func contains(_ keyID: String, of role: Role) -> Bool {
        self.lines.contains(Self.line(keyID, of: role)) || self.lines.contains(keyID)
    }

    /// Takes note of a key.
    mutating func insert(_ keyID: String, of role: Role) {
        self.lines.insert(Self.line(keyID, of: role))
    }

    private static func line(_ keyID: String, of role: Role) -> String { "\(role) \(keyID)" }
}

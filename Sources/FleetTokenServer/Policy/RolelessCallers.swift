// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Callers without roles where there are no rules: they get no token.
package struct RolelessCallers: Hashable, Sendable {
    /// What lets them in, in the words of the configuration.
    package let authenticators: [String]
    /// Whether nobody else is let in.
    package let isEverybody: Bool

    /// What is wrong.
    package var problem: String {
        "who is let in by \(self.authenticators.firstThree) has no roles, and gets no token."
    }

    /// What to do about it.
    package var remedy: String { "Name a file of rules as policy.file; docs/policy.md shows its form." }
}

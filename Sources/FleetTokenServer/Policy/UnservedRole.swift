// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetTokens

/// A role that is granted and that nothing signs for: who is granted it gets no token of it.
package struct UnservedRole: Hashable, Sendable {
    /// The role.
    package let role: Role
    /// Who grants it, in the words of the configuration.
    package let grantors: [String]

    /// What is wrong.
    package var problem: String {
        "the role is granted by \(self.grantors.firstThree), and nothing signs for it."
    }

    /// What to do about it.
    package var remedy: String {
        "Put its account's key into the key folder as \(self.role).json, or set signers.\(self.role).account; or take the "
            + "role out of what grants it."
    }
}

extension [String] {
    /// The first three, with commas between, and how many there are besides.
    var firstThree: String {
        self.prefix(3).joined(separator: ", ") + (self.count > 3 ? " and \(self.count - 3) more" : "")
    }
}

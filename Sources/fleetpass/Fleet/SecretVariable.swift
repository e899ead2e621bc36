// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// An environment variable that holds the secret for a token server.
struct SecretVariable {
    /// The one that commands look at where no other is named.
    static let usual = Self(name: "FLEETPASS_SECRET")

    let name: String

    /// The secret; `nil` where there is no such variable.
    ///
    /// - Throws: ``CommandFailure`` with `configuration` for a secret that no request can carry.
    var value: String? {
        get throws(CommandFailure) {
            guard let value = ProcessInfo.processInfo.environment[self.name] else { return nil }
            guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                throw CommandFailure(
                    status: .configuration,
                    message: "the secret in \(self.name) holds a control character, such as a line feed at its end, "
                        + "which no request can carry; set it without.")
            }
            return value
        }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto

extension RevocationList {
    /// Whether a key is withdrawn, and with it all that it signs.
    ///
    /// - Parameter keyID: The key's id.
    /// - Returns: Whether it is withdrawn.
    package func holds(keyID: String) -> Bool {
        // No token is empty, so the key alone decides.
        self.holds(Crypto.SHA256.hash(data: [UInt8]()), keyID: keyID, trustedKeyID: nil)
    }
}

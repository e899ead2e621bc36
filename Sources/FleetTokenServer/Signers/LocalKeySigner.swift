// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning

/// Signs with a key that this machine has, and with another one once that was exchanged.
protocol LocalKeySigner: PayloadSigner {
    /// Whether a key was this signer's and is no more, so that no token of it is handed out again.
    func hasGivenUp(_ keyID: String) -> Bool
}

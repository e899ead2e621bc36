// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation

/// Signs with whichever key of a role in the key folder signs at the time.
struct KeyFolderSigner: LocalKeySigner {
    let account: String
    let role: Role
    let keys: SigningKeys
    let now: @Sendable () -> Date

    func sign(payload: [UInt8]) async throws -> SignedToken {
        guard let signer = self.keys.signer(for: self.role, at: self.now()), signer.account == self.account else {
            throw SigningError(
                code: .signingFailed,
                message:
                    "The key folder holds no key of \(self.account) for the role \(self.role) that may sign; put its key "
                    + "file back, or rotate the role where its keys are withdrawn."
            )
        }
        return try await signer.sign(payload: payload)
    }

    func hasGivenUp(_ keyID: String) -> Bool { self.keys.hasGivenUp(keyID) }
}

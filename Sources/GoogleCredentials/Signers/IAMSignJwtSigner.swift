// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens

/// Signs with IAM's `signJwt`, with no key on any disk of ours.
///
/// The service writes the header, `kid` included. The credential's identity needs the role Service Account Token
/// Creator on the account, also where that is its own.
struct IAMSignJwtSigner: PayloadSigner {
    private let calls: IAMSigningCalls

    /// The e-mail of the account that signs.
    var account: String { self.calls.account }

    init(calls: IAMSigningCalls) {
        self.calls = calls
    }

    /// Signs a payload.
    ///
    /// - Parameter payload: The claims, as JSON.
    /// - Returns: The token that the service made, with the published key where it could be had.
    /// - Throws: `SigningError` with `signingFailed`; `CancellationError`.
    func sign(payload: [UInt8]) async throws -> SignedToken {
        do {
            let signed = try await self.calls.client.signJwt(
                payload, as: self.calls.account, delegates: self.calls.delegates)
            return SignedToken(
                token: FleetToken(signed.token), publicKey: await self.calls.publicKey(signed.keyID))
        } catch {
            throw self.calls.failure(error)
        }
    }
}

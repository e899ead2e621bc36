// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens

/// Signs with IAM's `signBlob`, with no key on any disk of ours.
///
/// The header is signed too, and the service says only afterwards which key it took. So the signer remembers the key of
/// the last answer and names that one; when the service took another, it signs once more under the new name. Where the
/// key changes with every call, the token goes out without a `kid`, as the vendor's own signers make it.
final class IAMSignBlobSigner: PayloadSigner {
    private let calls: IAMSigningCalls
    private let lastKeyID = Locked<String?>(nil)

    /// The e-mail of the account that signs.
    var account: String { self.calls.account }

    init(calls: IAMSigningCalls) {
        self.calls = calls
    }

    /// Signs a payload.
    ///
    /// - Parameter payload: The claims, as JSON.
    /// - Returns: The finished token, with the published key where it could be had.
    /// - Throws: `SigningError` with `signingFailed`; `CancellationError`.
    func sign(payload: [UInt8]) async throws -> SignedToken {
        do {
            let start = self.calls.client.context.time.uptime
            var named = self.lastKeyID.withLock { $0 }
            for _ in 0..<2 {
                let (token, keyID) = try await self.sign(payload, naming: named, since: start)
                self.lastKeyID.withLock { $0 = keyID }
                if named == keyID {
                    return SignedToken(token: token, publicKey: await self.calls.publicKey(keyID))
                }
                named = keyID
            }
            let (token, keyID) = try await self.sign(payload, naming: nil, since: start)
            return SignedToken(token: token, publicKey: await self.calls.publicKey(keyID))
        } catch {
            throw self.calls.failure(error)
        }
    }

    private func sign(
        _ payload: [UInt8], naming keyID: String?, since start: Duration
    ) async throws -> (FleetToken, String?) {
        let input = Self.signingInput(keyID: keyID, payload: payload)
        let signed = try await self.calls.client.sharingLimit(since: start).signBlob(
            input, as: self.calls.account, delegates: self.calls.delegates)
        return (Self.token(input, signed.signature), signed.keyID)
    }
}

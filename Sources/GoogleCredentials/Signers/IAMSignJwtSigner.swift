// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetSigning
import FleetTokens

/// Signs with IAM's `signJwt`, with no key on any disk of ours.
///
/// The service writes the header, `kid` included. The credential's identity needs the role Service Account Token
/// Creator on the account, also where that is its own.
public struct IAMSignJwtSigner: PayloadSigner {
    private let calls: IAMSigningCalls

    /// The e-mail of the account that signs.
    public var account: String { self.calls.account }

    /// Makes a signer.
    ///
    /// - Parameters:
    ///   - account: The e-mail of the account that signs.
    ///   - delegates: The accounts between the credential's identity and the one that signs, in order.
    ///   - credential: The identity that asks.
    ///   - universe: The universe that the account belongs to.
    ///   - settings: How the service is called.
    /// - Throws: ``CredentialError`` with ``CredentialError/Code/invalidConfiguration`` for what is not an account.
    public init(
        account: String, delegates: [String] = [], credential: GoogleCredential,
        universe: String = "googleapis.com", settings: IAMSigning = IAMSigning()
    ) throws(CredentialError) {
        self.init(
            calls: try IAMSigningCalls(
                account: account, delegates: delegates, credential: credential, universe: universe, settings: settings))
    }

    init(calls: IAMSigningCalls) {
        self.calls = calls
    }

    /// Signs a payload.
    ///
    /// - Parameter payload: The claims, as JSON.
    /// - Returns: The token that the service made, with the published key where it could be had.
    /// - Throws: `SigningError` with `signingFailed`; `CancellationError`.
    public func sign(payload: [UInt8]) async throws -> SignedToken {
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

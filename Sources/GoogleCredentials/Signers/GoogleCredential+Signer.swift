// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetSigning

/// The ways in which IAM signs.
public enum IAMMethod: String, Hashable, Sendable, CaseIterable {
    /// The service writes the header and names its key.
    case signJwt = "sign_jwt"
    /// The service signs bytes, and says afterwards with which key.
    case signBlob = "sign_blob"
}

extension GoogleCredential {
    /// A signer for the account that the process runs as.
    ///
    /// With a key at hand it signs here; otherwise IAM signs, for the machine's account or for the one that the
    /// credentials impersonate.
    ///
    /// - Parameters:
    ///   - method: How IAM signs where it is needed.
    ///   - settings: How the service is called where it is needed.
    /// - Returns: The signer.
    /// - Throws: ``CredentialError``, with ``CredentialError/Code/invalidConfiguration`` for credentials of a person or
    ///   another cloud, which are no account; `SigningError` for an unsound key; `CancellationError`.
    public func signer(
        method: IAMMethod = .signJwt, settings: IAMSigning = IAMSigning()
    ) async throws -> any PayloadSigner {
        if let local = self.source as? ServiceAccountSource { return try LocalSigner(local.key) }
        if let impersonated = self.source as? ImpersonatedSource {
            return try Self.signer(
                IAMSigningCalls(
                    account: impersonated.account, delegates: impersonated.delegates, credential: impersonated.source,
                    universe: impersonated.universe, host: impersonated.host, settings: settings), method)
        }
        guard let account = try await self.account() else {
            throw CredentialError(
                code: .invalidConfiguration,
                message: "Credentials of type \(self.kind.rawValue) are no service account here; name one to "
                    + "impersonate."
            )
        }
        return try await self.signer(impersonating: account, method: method, settings: settings)
    }

    /// A signer for an account that this identity may act as.
    ///
    /// - Parameters:
    ///   - account: The e-mail of the account that signs.
    ///   - delegates: The accounts between this identity and that one, in order.
    ///   - method: How IAM signs.
    ///   - settings: How the service is called.
    /// - Returns: A signer that uses IAM.
    /// - Throws: ``CredentialError``; `CancellationError`.
    public func signer(
        impersonating account: String, delegates: [String] = [], method: IAMMethod = .signJwt,
        settings: IAMSigning = IAMSigning()
    ) async throws -> any PayloadSigner {
        try Self.signer(
            IAMSigningCalls(
                account: account, delegates: delegates, credential: self, universe: await self.universeDomain(),
                settings: settings), method)
    }

    private static func signer(_ calls: IAMSigningCalls, _ method: IAMMethod) -> any PayloadSigner {
        switch method {
        case .signJwt: IAMSignJwtSigner(calls: calls)
        case .signBlob: IAMSignBlobSigner(calls: calls)
        }
    }
}

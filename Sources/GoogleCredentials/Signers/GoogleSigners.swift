// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetSigning

/// Signers that share one identity and one budget, and look for the identity when the first of them signs.
///
/// So a server starts while Google cannot be reached, says what is missing, and recovers by itself: a failed search is
/// made again after a pause of 10 s at most.
public final class GoogleSigners: Sendable {
    private enum Key: Hashable, Sendable {
        case own(IAMMethod)
        case account(String, delegates: [String], IAMMethod)
    }

    /// What is found once holds as long as the process; renewal is the business of access tokens.
    private static let life: Duration = .seconds(100 * 365 * 86_400)

    private let settings: IAMSigning
    private let credentials: RefreshingCache<Bool, GoogleCredential>
    private let signers: RefreshingCache<Key, any PayloadSigner>

    /// Makes signers.
    ///
    /// - Parameters:
    ///   - credentials: The search for the identity.
    ///   - settings: How IAM is called, with the budget that all share.
    public init(_ credentials: ApplicationDefaultCredentials, settings: IAMSigning = IAMSigning()) {
        var windows = RefreshWindows(advisory: .zero, mandatory: .zero, jitter: .zero)
        let (time, random) = (credentials.context.time, credentials.context.random)
        let loaded = RefreshingCache<Bool, GoogleCredential>(
            windows: windows, capacity: 1, time: time, random: random
        ) { _ in (try await credentials.load(), Self.life) }
        self.settings = settings
        self.credentials = loaded
        // The search pauses after a failure, and ladders pass a failing signer over; a third pause would only add to them.
        windows.longestPause = .zero
        self.signers = RefreshingCache(windows: windows, time: time, random: random) { key in
            let credential = try await loaded.value(for: true)
            switch key {
            case .own(let method):
                return (try await credential.signer(method: method, settings: settings), Self.life)
            case .account(let account, let delegates, let method):
                let signer = try await credential.signer(
                    impersonating: account, delegates: delegates, method: method, settings: settings)
                return (signer, Self.life)
            }
        }
    }

    /// The budget that all signers share.
    public var budget: SigningBudget { self.settings.budget }

    /// How often access tokens were taken from memory and fetched; `nil` before the identity is found.
    public var statistics: CacheStatistics? { self.credentials.current(true)?.statistics }

    /// The public half of the credentials' own key, where it has signed here.
    package var ownKey: RSAPublicKey? {
        IAMMethod.allCases.lazy.compactMap { self.signers.current(.own($0)) as? LocalSigner }.first?.publicKey
    }

    /// The identity that asks IAM.
    ///
    /// - Returns: The credential, found now or before.
    /// - Throws: ``CredentialError``; `CancellationError`.
    public func credential() async throws -> GoogleCredential {
        try await self.credentials.value(for: true)
    }

    /// A signer for the account that the process runs as.
    ///
    /// - Parameter method: How IAM signs where there is no key at hand.
    /// - Returns: The signer.
    /// - Throws: ``CredentialError``; `SigningError` for an unsound key; `CancellationError`.
    public func ownSigner(method: IAMMethod = .signJwt) async throws -> any PayloadSigner {
        try await self.signers.value(for: .own(method))
    }

    /// A signer for the account that the process runs as, where its name is known beforehand; nothing is asked before it
    /// signs.
    ///
    /// - Parameters:
    ///   - account: The account's e-mail; signing fails where the process runs as another one.
    ///   - method: How IAM signs where there is no key at hand.
    /// - Returns: The signer.
    public func ownSigner(expecting account: String, method: IAMMethod = .signJwt) -> any PayloadSigner {
        DeferredSigner(account: account) { try await self.ownSigner(method: method) }
    }

    /// A signer for an account to impersonate; nothing is asked before it signs.
    ///
    /// - Parameters:
    ///   - account: The e-mail of the account that signs.
    ///   - delegates: The accounts between the identity and that one, in order.
    ///   - method: How IAM signs.
    /// - Returns: The signer.
    public func signer(
        impersonating account: String, delegates: [String] = [], method: IAMMethod = .signJwt
    ) -> any PayloadSigner {
        DeferredSigner(account: account) {
            try await self.signers.value(for: .account(account, delegates: delegates, method))
        }
    }
}

/// A signer that is made when it first signs.
private struct DeferredSigner: PayloadSigner {
    let account: String
    let make: @Sendable () async throws -> any PayloadSigner

    func sign(payload: [UInt8]) async throws -> SignedToken {
        let signer: any PayloadSigner
        do {
            signer = try await self.make()
        } catch let error as CredentialError {
            throw SigningError(
                code: .signingFailed, message: "The account \(self.account) could not sign: \(error)", cause: error)
        }
        guard signer.account == self.account else {
            throw SigningError(
                code: .signingFailed,
                message: "The process runs as \(signer.account) and is to sign as \(self.account); name the account to "
                    + "impersonate, or use that account's key."
            )
        }
        return try await signer.sign(payload: payload)
    }
}

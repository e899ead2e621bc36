// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning

/// How signers far away call the service.
public struct IAMSigning: Sendable {
    /// The budget of the project, which all its signers should share.
    public var budget: SigningBudget
    /// How calls are tried again; the limit covers all those together that sign one token.
    public var retries: RetryPolicy
    /// Whether a call that takes longer than 95 of 100 before it is made a second time; one that failed is not.
    public var hedges: Bool
    /// Whether each token's signature is verified with the key that Google publishes for the account, where it can be
    /// had; only in the universe `googleapis.com`.
    public var verifiesWithPublishedKeys: Bool

    /// Sets how signers call.
    ///
    /// - Parameters:
    ///   - budget: The budget of the project.
    ///   - retries: How calls are tried again.
    ///   - hedges: Whether slow calls are made a second time.
    ///   - verifiesWithPublishedKeys: Whether signatures are verified with the published keys.
    public init(
        budget: SigningBudget = SigningBudget(),
        retries: RetryPolicy = RetryPolicy(attempts: 4, limit: .seconds(15), firstPause: .milliseconds(100)),
        hedges: Bool = true, verifiesWithPublishedKeys: Bool = true
    ) {
        self.budget = budget
        self.retries = retries
        self.hedges = hedges
        self.verifiesWithPublishedKeys = verifiesWithPublishedKeys
    }
}

/// What the signers far away share.
struct IAMSigningCalls: Sendable {
    let account: String
    let delegates: [String]
    let client: IAMCredentialsClient
    private let keys: AccountKeys?

    init(
        account: String, delegates: [String], credential: GoogleCredential, universe: String, host: String? = nil,
        settings: IAMSigning
    ) throws(CredentialError) {
        let delegates = delegates.map(IAMCredentialsClient.accountName)
        guard ([account] + delegates).allSatisfy(IAMCredentialsClient.isAccount) else {
            throw CredentialError(
                code: .invalidConfiguration,
                message:
                    "An account to sign for is not a service account's e-mail; write NAME@PROJECT.iam.gserviceaccount.com."
            )
        }
        let context = credential.context
        self.account = account
        self.delegates = delegates
        self.client = IAMCredentialsClient(
            credential: credential, universe: universe, context: context, host: host, retries: settings.retries,
            budget: settings.budget, hedged: settings.hedges ? HedgedCalls(time: context.time) : nil)
        // Where other universes publish accounts' keys is not documented, so nothing is verified there.
        let verifies = settings.verifiesWithPublishedKeys && universe == OAuth.defaultUniverse
        self.keys = verifies ? AccountKeys(account: account, context: context) : nil
    }

    func publicKey(_ id: String?) async -> RSAPublicKey? {
        guard let id else { return nil }
        return await self.keys?.key(id)
    }

    func failure(_ error: any Error) -> any Error {
        if Task.isCancelled || error is CancellationError { return CancellationError() }
        let refusal = error as? CredentialError
        let advice = refusal?.nextStep.map { " \($0)" } ?? ""
        return SigningError(
            code: refusal?.code == .quotaExhausted ? .heldBack : .signingFailed,
            message: "The account \(self.account) could not sign: \(error)\(advice)", cause: error)
    }
}

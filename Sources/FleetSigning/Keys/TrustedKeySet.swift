// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens

/// An immutable set of trusted keys, found by id or by account.
///
/// A key of an account checks that account's tokens only. One whose ``RSAPublicKey/account`` is not known, such as one that
/// was read from a JWKS or a PEM, checks tokens of whatever issuer: who trusts the published keys of several accounts binds
/// each to its own with ``RSAPublicKey/bound(to:)``. Replacing the set is how keys change.
public struct TrustedKeySet: TokenKeys {
    /// Every key, in the order they were given.
    public let keys: [RSAPublicKey]

    /// How many keys a token is tried with at most.
    public let maximumCandidates: Int

    private let byID: [String: [any TokenKey]]
    private let byAccount: [String: [any TokenKey]]
    private let unnamed: [RSAPublicKey]
    /// What is tried for every account beside its own keys.
    private let common: [any TokenKey]

    /// Collects keys; of one account's, the first is tried first.
    public init(_ keys: [RSAPublicKey]) {
        self.init(keys, triesKeysOfNoAccount: false)
    }

    /// Collects keys.
    ///
    /// - Parameters:
    ///   - keys: The keys; of one account's, the first is tried first.
    ///   - triesKeysOfNoAccount: Whether a token that names no key is also tried with those whose account is not known:
    ///     for somebody who looks at one token, not for a server.
    package init(_ keys: [RSAPublicKey], triesKeysOfNoAccount: Bool) {
        self.keys = keys
        // Who looks at one token can wait for more; a set of no account holds the keys of all of them.
        self.maximumCandidates = triesKeysOfNoAccount ? 256 : TokenExaminer.maximumCandidates
        let ofNoAccount = keys.filter { $0.account == nil }
        self.common = triesKeysOfNoAccount ? ofNoAccount : []
        self.byID = Dictionary(grouping: keys as [any TokenKey], by: \.id)
        self.unnamed = keys.filter(\.isUnnamed)
        self.byAccount = Dictionary(grouping: keys.filter { $0.account != nil }) { $0.account?.email ?? "" }
    }

    /// The keys with this id.
    public func keys(withID id: String) -> [any TokenKey] { self.byID[id] ?? [] }

    /// The keys without an id of their own, as PEM texts have none, of this account or of none in particular.
    public func unnamedKeys(ofAccount email: String) -> [any TokenKey] {
        self.unnamed.filter { $0.account.map { $0.email == email } ?? true }
    }

    /// The keys of this account.
    public func keys(ofAccount email: String) -> [any TokenKey] { (self.byAccount[email] ?? []) + self.common }
}

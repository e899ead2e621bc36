// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens

/// An immutable set of trusted keys, found by id or by account.
///
/// A key belongs to one account and checks that account's tokens only. Replacing the set is how keys change.
public struct TrustedKeySet: TokenKeys {
    /// Every key, in the order they were given.
    public let keys: [RSAPublicKey]

    private let byID: [String: [any TokenKey]]
    private let byAccount: [String: [any TokenKey]]
    private let unnamed: [RSAPublicKey]

    /// Collects keys; of one account's, the first is tried first.
    public init(_ keys: [RSAPublicKey]) {
        self.keys = keys
        self.byID = Dictionary(grouping: keys as [any TokenKey], by: \.id)
        self.unnamed = keys.filter(\.isUnnamed)
        self.byAccount = Dictionary(grouping: keys.filter { $0.account != nil }) { $0.account?.email ?? "" }
    }

    /// The keys with this id.
    public func keys(withID id: String) -> [any TokenKey] { self.byID[id] ?? [] }

    /// The keys that were read from PEM texts, of this account or of none in particular.
    public func unnamedKeys(ofAccount email: String) -> [any TokenKey] {
        self.unnamed.filter { $0.account.map { $0.email == email } ?? true }
    }

    /// The keys of this account.
    public func keys(ofAccount email: String) -> [any TokenKey] { self.byAccount[email] ?? [] }
}

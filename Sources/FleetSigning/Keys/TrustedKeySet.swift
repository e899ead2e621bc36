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

    /// Collects keys; of one account's, the first is tried first.
    public init(_ keys: [RSAPublicKey]) {
        self.keys = keys
        self.byID = Dictionary(grouping: keys as [any TokenKey], by: \.id)
        self.byAccount = Dictionary(grouping: keys.filter { $0.account != nil }) { $0.account?.email ?? "" }
    }

    /// The keys with this id.
    public func keys(withID id: String) -> [any TokenKey] { self.byID[id] ?? [] }

    /// The keys of this account.
    public func keys(ofAccount email: String) -> [any TokenKey] { self.byAccount[email] ?? [] }
}

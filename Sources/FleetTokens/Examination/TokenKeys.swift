// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// One public key that checks signatures.
public protocol TokenKey: Sendable {
    /// The key's id as tokens name it (`kid`).
    var id: String { get }
    /// The only account whose tokens the key may check; `nil` where the key's source does not say.
    var account: TrustedAccount? { get }
    /// Whether the RS256 signature fits the message.
    func isValidSignature(_ signature: [UInt8], for message: [UInt8]) -> Bool
}

/// Finds the keys that may have signed a token.
public protocol TokenKeys: Sendable {
    /// The keys with this id. One is normal; a list, so that two accounts cannot displace each other's key.
    func keys(withID id: String) -> [any TokenKey]
    /// The keys of this account, newest first.
    func keys(ofAccount email: String) -> [any TokenKey]
    /// The keys of this account, or of none in particular, that have no id of their own, as a PEM text has none: a token
    /// may name them by any id.
    func unnamedKeys(ofAccount email: String) -> [any TokenKey]
    /// How many keys a token is tried with at most.
    var maximumCandidates: Int { get }
}

extension TokenKeys {
    /// ``TokenExaminer/maximumCandidates``.
    public var maximumCandidates: Int { TokenExaminer.maximumCandidates }
    /// No keys: by default each has an id.
    public func unnamedKeys(ofAccount email: String) -> [any TokenKey] { [] }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
import Foundation

/// A service account that an engine trusts, and where its public keys are.
public struct TrustedAccountSource: Hashable, Sendable {
    /// Where keys are: a JWKS, or a JSON object of key ids and X.509 certificates, as Google publishes them.
    public enum Keys: Hashable, Sendable {
        /// An https URL, or one of this machine.
        case address(String)
        /// A file; also a service account's key file or a PEM text, of which the public half is taken.
        case file(String)

        /// The one spelling of all those that are known to lead to the same keys.
        var normalized: Self {
            switch self {
            case .file(let path):
                let file = URL(filePath: path).resolvingSymlinksInPath()
                return .file(file.path(percentEncoded: false))
            case .address(let url):
                guard var parts = URLComponents(string: url) else { return self }
                parts.scheme = parts.scheme?.lowercased()
                parts.encodedHost = parts.encodedHost?.lowercased()
                if parts.port == (parts.scheme == "https" ? 443 : 80) { parts.port = nil }
                if parts.path.isEmpty { parts.path = "/" }
                if parts.query?.isEmpty == true { parts.query = nil }
                parts.fragment = nil
                return .address(parts.string ?? url)
            }
        }
    }

    /// The account, with what it may do and for which provider.
    public var account: TrustedAccount
    /// Where its keys are.
    public var keys: Keys

    /// Pairs an account with its keys.
    public init(account: TrustedAccount, keys: Keys) {
        self.account = account
        self.keys = keys
    }

    /// Where Google publishes a service account's certificates.
    public static func googleAddress(of email: String) -> String {
        "https://www.googleapis.com/robot/v1/metadata/x509/\(email)"
    }
}

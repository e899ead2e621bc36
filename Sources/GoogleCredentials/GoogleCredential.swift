// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetSigning
import FleetTokens

/// An identity at Google, with the access tokens that it gets.
///
/// Tokens are remembered for each set of scopes and renewed before they end: in the background from 225 s before, and
/// with callers waiting from 60 s before. Failures are never final, and a token that has not ended is served through
/// all of them.
///
/// ```swift
/// let credential = try await ApplicationDefaultCredentials(context: context).load()
/// let token = try await credential.accessToken(scopes: ["https://www.googleapis.com/auth/cloud-platform"])
/// ```
public struct GoogleCredential: Sendable, CustomStringConvertible {
    /// The kinds of credentials, under the names that credential files give them.
    public enum Kind: String, Hashable, Sendable {
        /// A service account with its private key (AIP-4112).
        case serviceAccount = "service_account"
        /// A person who logged in with `gcloud` (AIP-4113).
        case authorizedUser = "authorized_user"
        /// A service account that another identity acts as.
        case impersonatedServiceAccount = "impersonated_service_account"
        /// An identity of another cloud or identity provider (AIP-4117).
        case externalAccount = "external_account"
        /// A person of a workforce pool who logged in with `gcloud`.
        case externalAccountAuthorizedUser = "external_account_authorized_user"
        /// What the machine runs as (AIP-4115).
        case metadataServer = "metadata_server"
    }

    /// The kind.
    public let kind: Kind
    /// The project that calls are billed to, sent as `x-goog-user-project`; `nil` where the identity decides.
    public let quotaProject: String?
    /// The project that the credential file names, where it does.
    public let projectID: String?
    /// The steps of the search that led here; empty where there was no search.
    public internal(set) var search: [SearchStep] = []

    let source: any TokenSource
    private let knownUniverse: String?
    private let knownAccount: String?
    private let tokens: RefreshingCache<[String], AccessToken>
    let context: CredentialContext

    /// Makes a credential; without a universe, the metadata server is asked for it.
    init(
        kind: Kind, source: any TokenSource, context: CredentialContext, quotaProject: String? = nil,
        projectID: String? = nil, universe: String? = OAuth.defaultUniverse, account: String? = nil
    ) {
        self.kind = kind
        self.source = source
        self.context = context
        self.quotaProject = quotaProject
        self.projectID = projectID
        self.knownUniverse = universe
        self.knownAccount = account
        self.tokens = RefreshingCache(
            windows: .accessToken, capacity: 64, time: context.time, random: context.random
        ) { scopes in
            let fetched = try await source.fetch(scopes: scopes)
            return (fetched.token, fetched.life)
        }
    }

    /// An access token that has not ended.
    ///
    /// - Parameter scopes: What the token is for.
    /// - Returns: The token, remembered or new.
    /// - Throws: ``CredentialError``; `CancellationError`.
    public func accessToken(scopes: [String]) async throws -> AccessToken {
        try await self.tokens.value(for: scopes)
    }

    /// The header fields that a call to one of Google's services needs: the token, and the project to bill (AIP-4110).
    ///
    /// - Parameter scopes: What the token is for.
    /// - Returns: Names in lower case, and values.
    /// - Throws: ``CredentialError``; `CancellationError`.
    public func headers(scopes: [String]) async throws -> [(name: String, value: String)] {
        self.headers(with: try await self.accessToken(scopes: scopes))
    }

    /// The header fields of a call with a token at hand.
    func headers(with token: AccessToken) -> [(name: String, value: String)] {
        let project = self.quotaProject.map { [(name: "x-goog-user-project", value: $0)] } ?? []
        return [(name: "authorization", value: token.authorizationHeader)] + project
    }

    /// Forgets a token that a service answered with 401, unless it was fetched a moment ago.
    ///
    /// - Parameters:
    ///   - token: The token that was refused.
    ///   - scopes: What it is for.
    /// - Returns: Whether the next caller gets another one.
    func discard(_ token: AccessToken, scopes: [String]) -> Bool {
        self.tokens.discard(scopes) { $0 == token }
    }

    /// How often the access tokens were taken from memory, and fetched.
    public var statistics: CacheStatistics { self.tokens.statistics }

    /// The e-mail of the service account, or `nil` for a person, another cloud's identity, or a machine's that is no
    /// service account, such as that of a pool of workload identities.
    ///
    /// - Returns: The e-mail, which the metadata server is asked for where the machine's account is used.
    /// - Throws: ``CredentialError``; `CancellationError`.
    public func account() async throws -> String? {
        guard let metadata = self.source as? MetadataServer else { return self.knownAccount }
        let email = try await metadata.email()
        // Clusters whose pods are identities of a pool answer with the pool's name.
        return email.contains("@") ? email : nil
    }

    /// The domain of the universe that the identity belongs to, `googleapis.com` for nearly all.
    ///
    /// - Returns: The domain.
    /// - Throws: ``CredentialError``; `CancellationError`.
    public func universeDomain() async throws -> String {
        if let knownUniverse { return knownUniverse }
        return try await (self.source as? MetadataServer)?.universe() ?? OAuth.defaultUniverse
    }

    /// The scopes for calls to the IAM credentials service; a person's were fixed when they logged in.
    var iamScopes: [String] {
        [.authorizedUser, .externalAccountAuthorizedUser].contains(self.kind) ? [] : [OAuth.iamScope]
    }

    /// Kind and account, never a secret.
    public var description: String {
        "GoogleCredential(\(self.kind.rawValue)\(self.knownAccount.map { ", \($0)" } ?? ""))"
    }
}

extension GoogleCredential: CustomDebugStringConvertible, CustomReflectable {
    /// The same as ``description``.
    public var debugDescription: String { self.description }
    /// A mirror that shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["credential": self.description]) }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetSigning
import FleetTokens
public import Foundation

/// Knows users by the ID tokens of one OpenID Connect provider, sent as `Authorization: Bearer TOKEN`.
///
/// A token must be signed with RS256, ES256 or EdDSA by a key that the provider publishes, name the provider and one of
/// your audiences, and be within its time. One with a mark of a Fleet Engine token is refused whoever signed it.
public struct IDTokenAuthenticator: CallerAuthenticator, UserTokenAuthenticator {
    let rules: UserTokenRules
    private let source: KeySetSource
    private let keys: RemoteKeySet<UserTokenKeySet>
    private let time: TimeSource

    /// Where a provider is and what its tokens must say.
    public struct Configuration: Sendable {
        /// The provider's name in logs, rules and assignments, such as `acme-login`.
        public var label: String
        /// The provider's `iss`, which is also where its discovery document is found.
        public var issuer: String
        /// Your client ids; `aud` must be one.
        public var audiences: Set<String>
        /// The address of its key set; `nil` to find it in the discovery document.
        public var keysAddress: String?
        /// The clock difference that is forgiven, up to 300 s.
        public var leeway: Duration
        /// The claim that names the user in logs; `sub` unless you want another, such as `email`.
        public var nameClaim: String

        /// Describes a provider.
        public init(
            label: String, issuer: String, audiences: Set<String>, keysAddress: String? = nil,
            leeway: Duration = .seconds(60), nameClaim: String = "sub"
        ) {
            self.label = label
            self.issuer = issuer
            self.audiences = audiences
            self.keysAddress = keysAddress
            self.leeway = leeway
            self.nameClaim = nameClaim
        }
    }

    /// Makes an authenticator.
    ///
    /// - Parameters:
    ///   - configuration: The provider.
    ///   - transport: Fetches its keys.
    ///   - clock: What the keys' age is counted on.
    ///   - now: The date that tokens are judged by.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    public init(
        _ configuration: Configuration, transport: any UpstreamTransport,
        clock: some Clock<Duration> = ContinuousClock(), now: @escaping @Sendable () -> Date = { Date() }
    ) throws(TokenServerError) {
        let time = TimeSource(clock: clock, now: now)
        let keys = KeySetSource(of: configuration).keys(over: transport, time: time)
        try self.init(configuration, keys: keys, time: time)
    }

    private init(
        _ configuration: Configuration, keys: RemoteKeySet<UserTokenKeySet>, time: TimeSource
    ) throws(TokenServerError) {
        guard UpstreamAddress.isAcceptable(configuration.issuer),
            configuration.keysAddress.map(UpstreamAddress.isAcceptable) ?? true
        else {
            throw TokenServerError(
                code: .invalidConfiguration,
                message: "The addresses of the identity provider \"\(configuration.label)\" must be "
                    + "\(UpstreamAddress.rule).")
        }
        self.rules = try UserTokenRules(
            label: configuration.label, issuer: configuration.issuer, audiences: configuration.audiences,
            leeway: configuration.leeway, nameClaim: configuration.nameClaim, algorithms: [.rs256, .es256, .edDSA])
        self.source = KeySetSource(of: configuration)
        self.keys = keys
        self.time = time
    }

    /// Makes the authenticators of several providers; those whose keys are at one place have them together.
    ///
    /// So no place is asked more often for the keys that somebody invents, however many apps are told apart there.
    ///
    /// - Parameters:
    ///   - configurations: The providers.
    ///   - transport: Fetches their keys.
    ///   - time: The date that tokens are judged by, and the clock that keys age by.
    /// - Returns: The authenticators, in the same order.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    static func all(
        _ configurations: [Configuration], transport: any UpstreamTransport,
        time: TimeSource = TimeSource(clock: ContinuousClock())
    ) throws(TokenServerError) -> [Self] {
        var sets: [KeySetSource: RemoteKeySet<UserTokenKeySet>] = [:]
        var authenticators: [Self] = []
        for configuration in configurations {
            let source = KeySetSource(of: configuration)
            let keys = sets[source] ?? source.keys(over: transport, time: time)
            sets[source] = keys
            authenticators.append(try Self(configuration, keys: keys, time: time))
        }
        return authenticators
    }

    /// The user whose ID token the request carries.
    public func caller(of request: CallerRequest) async throws -> Caller? {
        guard let (token, algorithm) = try self.rules.token(of: request) else { return nil }
        guard let keyID = token.keyID, (1...256).contains(keyID.utf8.count) else {
            throw CallerRefusal(.unknown, "The user's token does not name its key (kid).")
        }
        // What has ended needs no key to be refused, and no fetch.
        let caller = try self.rules.caller(of: token, at: self.time.date)
        let keys = try await self.keys(named: keyID).filter { $0.algorithm == algorithm }
        guard !keys.isEmpty else {
            throw CallerRefusal(.algorithm, "The key of the user's token is for another algorithm.")
        }
        guard keys.contains(where: { $0.isValidSignature(token.signature, for: token.signingInput) }) else {
            throw CallerRefusal(.signature, "The signature of the user's token does not hold.")
        }
        return caller
    }

    /// How long a request waits for keys to be fetched.
    ///
    /// Anybody can name a key that nobody has, and each that waits takes a place that others need.
    private static let patience = Duration.seconds(1)

    /// The keys of this id, at least one; each fixes its own algorithm.
    private func keys(named id: String) async throws -> [UserTokenKey] {
        switch await self.keys.lookup(patience: Self.patience, { $0.contains(id) }) {
        case .found(let set): return set.keys.filter { $0.id == id }
        case .unknownKey:
            throw CallerRefusal(.unknown, "The user's token names a key that its issuer does not have.")
        case .unavailable:
            let reason = self.keys.failure ?? "that takes longer than a second."
            throw KeySetError(message: "The keys of \(self.source) cannot be fetched now: \(reason)")
        }
    }
}

extension IDTokenAuthenticator {
    /// The key sets of providers, each once, by the label of the first provider that has it.
    static func keySets(of providers: [Self]) -> [(provider: String, keys: RemoteKeySet<UserTokenKeySet>)] {
        var sets: [(provider: String, keys: RemoteKeySet<UserTokenKeySet>)] = []
        for provider in providers where !sets.contains(where: { $0.keys === provider.keys }) {
            sets.append((provider.rules.label, provider.keys))
        }
        return sets
    }

    /// How many keys a provider publishes that its tokens may be signed with; fetched now and not kept.
    ///
    /// - Parameters:
    ///   - configuration: The provider.
    ///   - transport: Sends the requests.
    /// - Returns: The number of keys.
    /// - Throws: An error in words when they cannot be fetched or read.
    public static func countKeys(of configuration: Configuration, transport: any UpstreamTransport) async throws -> Int
    {
        try await KeySetSource(of: configuration).fetch(over: transport).keys.keys.count
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens

/// Where an identity provider publishes its keys.
enum KeySetSource: Hashable, Sendable, CustomStringConvertible {
    /// By the issuer's discovery document (OpenID Connect Discovery 1.0 §4).
    case discovery(issuer: String)
    /// At a known address.
    case address(String)

    /// Where a provider's keys are.
    init(of provider: IDTokenAuthenticator.Configuration) {
        self = provider.keysAddress.map(Self.address) ?? .discovery(issuer: provider.issuer)
    }

    /// The address without its query.
    var description: String {
        switch self {
        case .discovery(let issuer): issuer
        case .address(let url): UpstreamAddress.shown(url)
        }
    }

    /// Follows the keys; nothing is fetched before the first is asked for.
    ///
    /// - Parameters:
    ///   - transport: Sends the requests.
    ///   - time: The clock that the keys age by.
    /// - Returns: The keys.
    func keys(over transport: any UpstreamTransport, time: TimeSource) -> RemoteKeySet<UserTokenKeySet> {
        RemoteKeySet(time: time) { try await self.fetch(over: transport) }
    }

    /// Fetches the keys with the time that they may be used for.
    ///
    /// - Parameter transport: Sends the requests.
    /// - Returns: The keys, and the answer's `max-age` if it has one.
    /// - Throws: `KeySetError`, or the transport's error.
    func fetch(over transport: any UpstreamTransport) async throws -> (keys: UserTokenKeySet, maximumAge: Duration?) {
        let answer = try await KeySetFetch.document(at: try await self.keysAddress(over: transport), over: transport)
        return (try UserTokenKeySet(parsing: answer.body), answer.maximumAge)
    }

    private func keysAddress(over transport: any UpstreamTransport) async throws -> String {
        let issuer: String
        switch self {
        case .discovery(let url): issuer = url
        case .address(let url): return url
        }
        let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
        let answer = try await KeySetFetch.document(
            at: "\(base)/.well-known/openid-configuration", over: transport)
        guard let document = (try? JSONValue(parsing: answer.body))?.object else {
            throw KeySetError(message: "The discovery document of \(issuer) is not a JSON object.")
        }
        guard let named = document["issuer"]?.string else {
            throw KeySetError(message: "The discovery document of \(issuer) names no issuer.")
        }
        guard named == issuer else {
            throw KeySetError(
                message: "The discovery document of \(issuer) says that its issuer is \"\(UserToken.shown(named))\".",
                isConfiguration: true)
        }
        guard let address = document["jwks_uri"]?.string, UpstreamAddress.isAcceptable(address) else {
            throw KeySetError(message: "The discovery document of \(issuer) has no jwks_uri with https.")
        }
        return address
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens

/// The public keys that Google publishes for a service account, each found by its id.
///
/// A key is fetched once for all who ask and remembered for an hour; an id that is not published is asked for again no
/// sooner than 15 s later.
final class AccountKeys: Sendable {
    private static let windows = RefreshWindows(
        advisory: .seconds(600), mandatory: .zero, jitter: .seconds(300), firstPause: .seconds(30),
        longestPause: .seconds(30))

    private let keys: RefreshingCache<String, RSAPublicKey>

    init(account: String, context: CredentialContext) {
        self.keys = RefreshingCache(
            windows: Self.windows, capacity: 32, time: context.time, random: context.random
        ) { id in
            let service = "The list of published keys"
            let keys = try await context.exchange(
                with: service, policy: RetryPolicy(attempts: 2, limit: .seconds(5))
            ) {
                CredentialsRequest(
                    url: "https://www.googleapis.com/service_accounts/v1/jwk/\(account)", timeout: .seconds(4))
            } read: {
                try JWKS.read($0.body)
            }
            guard let key = keys.first(where: { $0.id == id }) else {
                throw CredentialError(code: .refused, message: "\(service) of \(account) lacks the signing key.")
            }
            return (key, .seconds(3600))
        }
    }

    /// The key, or `nil` where it cannot be had at present.
    func key(_ id: String) async -> RSAPublicKey? {
        try? await self.keys.value(for: id)
    }
}

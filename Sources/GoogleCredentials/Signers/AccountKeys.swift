// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens

/// The public keys that Google publishes for a service account, each found by its id.
///
/// A key is fetched once for all who ask and remembered for an hour; an id that is not published is asked for again no
/// sooner than 15 s later. Who asks for a key that is not there waits a second for it at most, and not at all while the
/// address does not answer: then it is fetched in the background.
final class AccountKeys: Sendable {
    private struct TookTooLong: Error {}

    private static let windows = RefreshWindows(
        advisory: .seconds(600), mandatory: .zero, jitter: .seconds(300), firstPause: .seconds(30),
        longestPause: .seconds(30))
    private static let patience: Duration = .seconds(1)

    private let keys: RefreshingCache<String, RSAPublicKey>
    private let time: TimeSource
    /// Whether the address did not answer, or not in time, when it was asked last.
    private let isAway: Locked<Bool>

    init(account: String, context: CredentialContext) {
        let isAway = Locked(false)
        self.isAway = isAway
        self.time = context.time
        self.keys = RefreshingCache(
            windows: Self.windows, capacity: 32, time: context.time, random: context.random
        ) { id in
            let service = "The list of published keys"
            let keys: [RSAPublicKey]
            do {
                keys = try await context.exchange(
                    with: service, policy: RetryPolicy(attempts: 2, limit: .seconds(5))
                ) {
                    UpstreamRequest(
                        url: "https://www.googleapis.com/service_accounts/v1/jwk/\(account)", timeout: .seconds(4))
                } read: {
                    try JWKS.read($0.body)
                }
            } catch {
                isAway.withLock { $0 = true }
                throw error
            }
            isAway.withLock { $0 = false }
            guard let key = keys.first(where: { $0.id == id }) else {
                throw CredentialError(code: .refused, message: "\(service) of \(account) lacks the signing key.")
            }
            return (key, .seconds(3600))
        }
    }

    /// The key, or `nil` where it cannot be had at present.
    func key(_ id: String) async -> RSAPublicKey? {
        self.keys.prepare(id)
        if let key = self.keys.current(id) { return key }
        guard !self.isAway.withLock({ $0 }) else { return nil }
        do {
            return try await self.time.withLimit(Self.patience, orThrow: TookTooLong()) { [keys] in
                try await keys.value(for: id)
            }
        } catch is TookTooLong {
            self.isAway.withLock { $0 = true }
            return nil
        } catch {
            return nil
        }
    }
}

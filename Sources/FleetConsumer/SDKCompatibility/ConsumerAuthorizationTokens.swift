// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens

/// The tokens of an app's own fetcher.
@MainActor final class ConsumerAuthorizationTokens: TokenProvider {
    private let authorization: any GMTCAuthorization
    /// The same fetcher, where it wants to know which token was refused.
    private let receiver: (any RefusedTokenReceiver)?

    init(_ authorization: any GMTCAuthorization) {
        self.authorization = authorization
        self.receiver = authorization as? any RefusedTokenReceiver
    }

    // Named again, because it would take over the requirement's lack of isolation.
    @MainActor func token(for subject: TokenSubject) async throws -> FleetToken {
        guard case .consumer(let trip) = subject else {
            throw TokenClientError(
                code: .invalidConfiguration, message: "A consumer's authorization has tokens for trips only.")
        }
        return try await AuthorizationAnswer.token { [authorization] completion in
            authorization.fetchToken(with: GMTCAuthorizationContext(tripID: trip.value), completion: completion)
        }
    }

    /// Tells the fetcher, where it wants to know; the SDKs' own protocol has no way to say so.
    nonisolated func invalidate(_ token: FleetToken, for subject: TokenSubject) {
        self.receiver?.tokenWasRefused(token.compactSerialization)
    }
}

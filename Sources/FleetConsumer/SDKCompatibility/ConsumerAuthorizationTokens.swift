// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens

/// The tokens of an app's own fetcher.
@MainActor final class ConsumerAuthorizationTokens: TokenProvider {
    private let authorization: any GMTCAuthorization

    init(_ authorization: any GMTCAuthorization) {
        self.authorization = authorization
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

    /// Does nothing: the SDKs' protocol has no way to say that a token was refused.
    nonisolated func invalidate(_ token: FleetToken, for subject: TokenSubject) {}
}

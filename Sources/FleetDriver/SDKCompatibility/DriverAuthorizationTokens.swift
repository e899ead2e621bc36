// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens

/// The tokens of an app's own fetcher.
@MainActor final class DriverAuthorizationTokens: TokenProvider {
    private let authorization: any GMTDAuthorization
    /// The same fetcher, where it wants to know which token was refused.
    private let receiver: (any RefusedTokenReceiver)?

    init(_ authorization: any GMTDAuthorization) {
        self.authorization = authorization
        self.receiver = authorization as? any RefusedTokenReceiver
    }

    // Named again, because it would take over the requirement's lack of isolation.
    @MainActor func token(for subject: TokenSubject) async throws -> FleetToken {
        let context: GMTDAuthorizationContext
        switch subject {
        case .driver(let vehicle): context = GMTDAuthorizationContext(vehicleID: vehicle.value)
        case .deliveryDriver(let vehicle, let task):
            context = GMTDAuthorizationContext(vehicleID: vehicle.value, taskID: task?.value)
        case .consumer, .deliveryConsumer, .fleetReader:
            throw TokenClientError(
                code: .invalidConfiguration, message: "A driver's authorization has tokens for drivers only.")
        }
        return try await AuthorizationAnswer.token { [authorization] completion in
            authorization.fetchToken(with: context, completion: completion)
        }
    }

    /// Tells the fetcher, where it wants to know; the SDKs' own protocol has no way to say so.
    nonisolated func invalidate(_ token: FleetToken, for subject: TokenSubject) {
        self.receiver?.tokenWasRefused(token.compactSerialization)
    }
}

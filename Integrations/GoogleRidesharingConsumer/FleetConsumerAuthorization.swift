// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// Compile this file into the app, next to Google's Consumer SDK. Where the SDK is absent, such as on Linux, the same code
// works with the types of the same names in FleetConsumer.

import FleetTokenClient
import Foundation

#if canImport(GoogleRidesharingConsumer)
    import GoogleRidesharingConsumer
#else
    import FleetConsumer
#endif

/// Hands a provider's tokens to the Consumer SDK.
///
/// ```swift
/// let authorization = FleetConsumerAuthorization(tokens)
/// GMTCServices.setAccessTokenProvider(authorization, providerID: provider)
/// ```
final class FleetConsumerAuthorization: NSObject, GMTCAuthorization, RefusedTokenReceiver {
    private let authorization: SDKAuthorization

    /// Makes an authorization; share one provider among all of them.
    ///
    /// - Parameters:
    ///   - tokens: Where tokens come from.
    ///   - limit: The longest wait for one token.
    init(_ tokens: any TokenProvider, within limit: Duration = .seconds(9)) {
        self.authorization = SDKAuthorization(tokens, within: limit)
    }

    /// Called by the SDK before each question about the trip.
    func fetchToken(
        with authorizationContext: GMTCAuthorizationContext?,
        completion: @escaping GMTCAuthTokenFetchCompletionHandler
    ) {
        let answer = Answer(block: completion)
        self.authorization.fetchConsumerToken(tripID: authorizationContext?.tripID) { answer.block($0, $1) }
    }

    /// The SDK's block, which may be called on any queue; Objective-C cannot say so in its type.
    private struct Answer: @unchecked Sendable {
        let block: GMTCAuthTokenFetchCompletionHandler
    }

    /// Drops the token that the trip got last, so that the next question carries another.
    ///
    /// Call it when a question fails with gRPC's 16, which the SDK tells its subscribers only. A 7 means the token only
    /// where it is new.
    func lastTokenWasRefused(tripID: String) {
        self.authorization.lastTokenWasRefused(tripID: tripID)
    }

    /// Called by `FleetConsumer` where it stands in for the SDK.
    func tokenWasRefused(_ token: String) {
        self.authorization.tokenWasRefused(token)
    }
}

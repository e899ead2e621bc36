// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// Compile this file into the app, next to Google's Driver SDK. Where the SDK is absent, such as on Linux, the same code
// works with the types of the same names in FleetDriver.

import FleetTokenClient
import Foundation

#if canImport(GoogleRidesharingDriver)
    import GoogleRidesharingDriver
#else
    import FleetDriver
#endif

/// Hands a provider's tokens to the Driver SDK.
///
/// ```swift
/// let authorization = FleetDriverAuthorization(tokens)
/// let context = GMTDDriverContext(
///     accessTokenProvider: authorization, providerID: provider, vehicleID: vehicle, navigator: navigator)
/// ```
final class FleetDriverAuthorization: NSObject, GMTDAuthorization, RefusedTokenReceiver {
    private let authorization: SDKAuthorization
    private let service: SDKAuthorization.DriverService

    /// Makes an authorization; share one provider among all of them.
    ///
    /// - Parameters:
    ///   - tokens: Where tokens come from.
    ///   - service: What the driver works for: on-demand trips or scheduled tasks.
    ///   - limit: The longest wait for one token.
    init(
        _ tokens: any TokenProvider,
        service: SDKAuthorization.DriverService = .onDemandTrips,
        within limit: Duration = .seconds(9)
    ) {
        self.authorization = SDKAuthorization(tokens, within: limit)
        self.service = service
    }

    /// Called by the SDK before each update.
    func fetchToken(
        with authorizationContext: GMTDAuthorizationContext?,
        completion: @escaping GMTDAuthTokenFetchCompletionHandler
    ) {
        let answer = Answer(block: completion)
        self.authorization.fetchDriverToken(
            vehicleID: authorizationContext?.vehicleID,
            taskID: authorizationContext?.taskID,
            service: self.service
        ) { answer.block($0, $1) }
    }

    /// The SDK's block, which may be called on any queue; Objective-C cannot say so in its type.
    private struct Answer: @unchecked Sendable {
        let block: GMTDAuthTokenFetchCompletionHandler
    }

    /// Drops the token that the vehicle got last, so that the next update carries another.
    ///
    /// Call it when an update fails with gRPC's 16, which the SDK tells its listeners only. A 7 means the token only
    /// where it is new.
    func lastTokenWasRefused(vehicleID: String) {
        self.authorization.lastTokenWasRefused(vehicleID: vehicleID)
    }

    /// Called by `FleetDriver` where it stands in for the SDK.
    func tokenWasRefused(_ token: String) {
        self.authorization.tokenWasRefused(token)
    }
}

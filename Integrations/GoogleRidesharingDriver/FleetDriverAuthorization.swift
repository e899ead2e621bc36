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
/// let context = GMTDDriverContext(
///     accessTokenProvider: FleetDriverAuthorization(tokens), providerID: provider, vehicleID: vehicle,
///     navigator: navigator)
/// ```
final class FleetDriverAuthorization: NSObject, GMTDAuthorization {
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
        self.authorization.fetchDriverToken(
            vehicleID: authorizationContext?.vehicleID,
            taskID: authorizationContext?.taskID,
            service: self.service,
            completion: completion
        )
    }
}

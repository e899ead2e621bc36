// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokenClient

/// Who drives which vehicle, and where tokens come from, in the shape of Google's Driver SDK.
public final class GMTDDriverContext: NSObject {
    /// Where tokens come from.
    public let accessTokenProvider: any GMTDAuthorization
    /// Whom the vehicle belongs to.
    public let providerID: String
    /// The vehicle.
    public let vehicleID: String
    /// The app's navigator; kept, and not used by this module.
    public let navigator: Any?
    /// How to reach the engine; the SDK knows that by itself.
    public let engine: EngineConnection
    /// Where locations come from, besides ``GMTDVehicleReporter/record(_:)``; the SDK takes them from the navigator.
    ///
    /// Iterated anew whenever tracking is turned on; a bare `AsyncStream` serves the first time only, and a
    /// ``StreamLocationSource`` serves each.
    public let locations: (any LocationSource)?

    /// Makes a context.
    ///
    /// - Parameters:
    ///   - accessTokenProvider: Where tokens come from.
    ///   - providerID: Whom the vehicle belongs to.
    ///   - vehicleID: The vehicle.
    ///   - navigator: The app's navigator, if it has one.
    ///   - engine: How to reach the engine; by default, Google's.
    ///   - locations: Where locations come from, iterated anew whenever tracking is turned on.
    public init(
        accessTokenProvider: any GMTDAuthorization,
        providerID: String,
        vehicleID: String,
        navigator: Any? = nil,
        engine: EngineConnection = EngineConnection(),
        locations: (any LocationSource)? = nil
    ) {
        self.accessTokenProvider = accessTokenProvider
        self.providerID = providerID
        self.vehicleID = vehicleID
        self.navigator = navigator
        self.engine = engine
        self.locations = locations
    }
}

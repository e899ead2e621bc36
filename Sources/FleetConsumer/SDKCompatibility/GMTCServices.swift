// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokenClient
import FleetTokens

/// The consumer's side of on-demand trips, in the shape of Google's Consumer SDK.
@preconcurrency @MainActor public final class GMTCServices: NSObject {
    /// The SDK's shape allows one setting for the whole app.
    private static var current = GMTCServices(tripService: GMTCTripService())

    /// Hands out the models of trips.
    public let tripService: GMTCTripService

    private init(tripService: GMTCTripService) {
        self.tripService = tripService
    }

    /// Says where tokens come from; models that exist already go on with what they have.
    ///
    /// - Parameters:
    ///   - provider: Where tokens come from.
    ///   - providerID: Whom the trips belong to.
    ///   - engine: How to reach the engine, which the SDK knows by itself; by default, Google's.
    public static func setAccessTokenProvider(
        _ provider: any GMTCAuthorization,
        providerID: String,
        engine: EngineConnection = EngineConnection()
    ) {
        let tokens = ConsumerAuthorizationTokens(provider)
        Self.current = GMTCServices(
            tripService: GMTCTripService(tokens: tokens, providerID: providerID, engine: engine))
    }

    /// The services, which have no trips before the tokens are set up.
    public static func shared() -> GMTCServices { Self.current }
}

/// Hands out the models of trips, in the shape of Google's Consumer SDK.
@preconcurrency @MainActor public final class GMTCTripService: NSObject {
    private struct WeakModel {
        weak var model: GMTCTripModel?
    }

    private let tokens: ConsumerAuthorizationTokens?
    private let providerID: String
    private let engine: EngineConnection
    private var models: [String: WeakModel] = [:]

    init(tokens: ConsumerAuthorizationTokens? = nil, providerID: String = "", engine: EngineConnection = .init()) {
        self.tokens = tokens
        self.providerID = providerID
        self.engine = engine
    }

    /// The one model of a trip, for as long as somebody holds or watches it.
    ///
    /// - Parameter tripName: `providers/{provider}/trips/{trip}`, with the provider that the services were set up for.
    /// - Returns: The model, or `nil` for any other name and before the tokens are set up.
    public func tripModel(forTripName tripName: String) -> GMTCTripModel? {
        self.models = self.models.filter { $0.value.model != nil }
        if let known = self.models[tripName]?.model { return known }
        guard let tokens = self.tokens, case .trip(let provider, let trip)? = try? ResourceName(checking: tripName),
            provider == ProviderID(self.providerID)
        else { return nil }
        let model = GMTCTripModel(
            provider: provider, trip: trip, tripName: tripName, tokens: tokens, engine: self.engine)
        self.models[tripName] = WeakModel(model: model)
        return model
    }

    /// Whether there is a model of a trip, which somebody holds or watches.
    public func hasTripModel(forTripName tripName: String) -> Bool {
        self.models[tripName]?.model != nil
    }

    /// The models that somebody holds or watches, by the names of their trips.
    public func allTripModels() -> [GMTCTripModel] {
        self.models.values.compactMap(\.model).sorted { $0.tripName < $1.tripName }
    }

    /// The models for which the engine is being asked, by the names of their trips.
    public func activeTripModels() -> [GMTCTripModel] {
        self.allTripModels().filter { $0.state == .active }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import Foundation

#if canImport(GoogleRidesharingConsumer)
    import GoogleRidesharingConsumer
#else
    import FleetConsumer
#endif

/// Follows one trip, and says what is new about it and its tokens.
@MainActor final class TripFollower: NSObject {
    private(set) var state = TripState() {
        didSet { if self.state != oldValue { self.onChange?(self.state) } }
    }
    /// Hears of each new state.
    var onChange: (@MainActor (TripState) -> Void)?

    private let model: GMTCTripModel
    private let authorization: FleetConsumerAuthorization
    private var watching: Task<Void, Never>?

    /// A follower of the trip `providers/{provider}/trips/{trip}`, or `nil` when that is not its name.
    init?(tripName: String, tokens: ConsumerTokens) {
        guard let model = GMTCServices.shared().tripService.tripModel(forTripName: tripName) else { return nil }
        self.model = model
        self.authorization = tokens.authorization
        super.init()
        let events = tokens.provider.events()
        self.watching = Task { [weak self] in
            for await event in events { self?.state.lastTokenEvent = event.text }
        }
    }

    deinit {
        self.watching?.cancel()
    }

    /// Asks for the trip, again and again, until it is over.
    func start() {
        self.model.register(self)
        self.state.isFollowing = true
    }

    /// Asks no more.
    func stop() {
        self.model.unregisterSubscriber(self)
        self.state.isFollowing = false
    }

    // MARK: - What the model says

    func tripModel(_ tripModel: GMTCTripModel, didUpdate sessionState: GMTCTripModelState) {
        self.state.isFollowing = sessionState == .active
    }

    func tripModel(_ tripModel: GMTCTripModel, didUpdate tripStatus: GMTSTripStatus) {
        self.state.status = Self.text(tripStatus)
    }

    // Comes after an answer that brings news, whatever the news is. One that brings none tells nothing, also when it ends
    // a time of failures: therefore a problem is shown with its time.
    func tripModel(
        _ tripModel: GMTCTripModel, didUpdate trip: GMTSTrip?, updatedPropertyFields: GMTSTripPropertyFields
    ) {
        self.state.problem = nil
        self.state.problemAt = nil
    }

    func tripModel(_ tripModel: GMTCTripModel, didUpdateETAToNextWaypoint nextWaypointETA: TimeInterval) {
        self.state.arrival = nextWaypointETA > 0 ? Date(timeIntervalSince1970: nextWaypointETA) : nil
    }

    func tripModel(
        _ tripModel: GMTCTripModel, didUpdateActiveRouteRemainingDistance activeRouteRemainingDistance: Int32
    ) {
        self.state.distance = Int(activeRouteRemainingDistance)
    }

    func tripModel(_ tripModel: GMTCTripModel, didFailUpdateTripWithError error: (any Error)?) {
        self.state.problem = error?.localizedDescription ?? "The trip's news did not arrive."
        self.state.problemAt = Date()
        // The engine refused the token, which the SDK tells nobody else; without a token, a token error lies below.
        if let error = error as NSError?, error.code == RPCCode.unauthenticated.number,
            !(error.userInfo[NSUnderlyingErrorKey] is TokenClientError),
            let trip = tripModel.tripName.split(separator: "/").last
        {
            self.authorization.lastTokenWasRefused(tripID: String(trip))
        }
    }

    private static func text(_ status: GMTSTripStatus) -> String {
        switch status {
        case .new: "waiting for a driver"
        case .enrouteToPickup: "the driver is on the way"
        case .arrivedAtPickup: "the driver is there"
        case .enrouteToIntermediateDestination, .arrivedAtIntermediateDestination, .enrouteToDropoff: "on the way"
        case .complete: "arrived"
        case .canceled: "called off"
        default: "unknown"
        }
    }
}

#if canImport(GoogleRidesharingConsumer)
    // The SDK calls on the main thread, which its header does not tell the compiler.
    extension TripFollower: @preconcurrency GMTCTripModelSubscriber {}
#else
    extension TripFollower: GMTCTripModelSubscriber {}
#endif

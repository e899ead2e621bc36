// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens

/// Watches one trip while somebody subscribes, in the shape of Google's Consumer SDK; for the main thread only.
///
/// Underneath is a ``TripModel``, a new one each time that watching begins.
@preconcurrency @MainActor public final class GMTCTripModel: NSObject {
    /// A subscriber's time on the list, which ends with its removal; one that comes back has another.
    private final class Subscription {
        weak var subscriber: (any GMTCTripModelSubscriber)?
        /// Whether it came after the others had heard that watching began, and has not been told of it yet.
        var isLate: Bool

        init(_ subscriber: any GMTCTripModelSubscriber, isLate: Bool) {
            self.subscriber = subscriber
            self.isLate = isLate
        }
    }

    /// The trip's name, `providers/{provider}/trips/{trip}`.
    public let tripName: String
    /// What is known of the trip; `nil` before the first answer.
    public private(set) var currentTrip: GMTSTrip?
    /// How the trip is watched; a change takes effect when watching begins the next time.
    public let options = GMTCMutableTripModelOptions()

    private let provider: ProviderID
    private let trip: TripID
    private let tokens: ConsumerAuthorizationTokens
    private let engine: EngineConnection
    private var subscriptions: [Subscription] = []
    private var watching: Task<Void, Never>?
    /// Whether subscribers were told that watching began.
    private var hasBegun = false
    /// What subscribers were told since watching began; each time, they hear everything once.
    private var told: TripSnapshot?

    /// Whether the engine is being asked.
    public var state: GMTCTripModelState { self.watching == nil ? .inactive : .active }

    init(
        provider: ProviderID, trip: TripID, tripName: String, tokens: ConsumerAuthorizationTokens,
        engine: EngineConnection
    ) {
        self.provider = provider
        self.trip = trip
        self.tripName = tripName
        self.tokens = tokens
        self.engine = engine
    }

    // MARK: - Subscribers

    /// Adds a subscriber, which is not kept alive; the first one begins the watching.
    ///
    /// A later one hears by itself, soon after, that the trip is watched and what is known of it.
    public func register(_ subscriber: any GMTCTripModelSubscriber) {
        self.subscriptions.removeAll { $0.subscriber == nil }
        if !self.subscriptions.contains(where: { $0.subscriber === subscriber }) {
            self.subscriptions.append(Subscription(subscriber, isLate: self.hasBegun))
        }
        guard self.watching != nil else { return self.watch() }
        // As every callback, not on the stack of this call.
        Task { self.welcome() }
    }

    /// Removes a subscriber, which hears nothing more, also inside a callback; watching ends without any.
    public func unregisterSubscriber(_ subscriber: any GMTCTripModelSubscriber) {
        self.forget(subscriber)
        self.stopWithoutSubscribers()
    }

    private func forget(_ subscriber: any GMTCTripModelSubscriber) {
        self.subscriptions.removeAll { $0.subscriber == nil || $0.subscriber === subscriber }
    }

    private func stopWithoutSubscribers() {
        guard self.subscriptions.allSatisfy({ $0.subscriber == nil }) else { return }
        self.watching?.cancel()
        self.watching = nil
    }

    /// Tells who came late what the others know; to be called before anything new is told.
    private func welcome() {
        let late = self.subscriptions.filter(\.isLate)
        self.noteThatNobodyIsLate()
        for subscription in late {
            self.tell(subscription) { $0.tripModel(self, didUpdate: .active) }
            guard let trip = self.told else { continue }
            let known = GMTSTripPropertyFields(from: nil, to: trip)
            self.tell(subscription, of: trip, known, isNewETA: trip.etaToNextWaypoint != nil)
        }
    }

    private func noteThatNobodyIsLate() {
        for subscription in self.subscriptions { subscription.isLate = false }
    }

    private func tell(_ message: (any GMTCTripModelSubscriber) -> Void) {
        for subscription in self.subscriptions { self.tell(subscription, message) }
    }

    /// Tells one that is still on the list: a callback just before may have taken it off.
    private func tell(_ subscription: Subscription, _ message: (any GMTCTripModelSubscriber) -> Void) {
        guard let subscriber = subscription.subscriber, self.subscriptions.contains(where: { $0 === subscription })
        else { return }
        message(subscriber)
    }

    // MARK: - Watching

    private func watch() {
        self.told = nil
        self.hasBegun = false
        self.noteThatNobodyIsLate()
        // The task holds the model, as long as somebody subscribes.
        self.watching = Task {
            // Watching may have ended, and begun anew, in the turn in which it began.
            guard !Task.isCancelled else { return }
            do {
                let model = try TripModel(
                    provider: self.provider,
                    trip: self.trip,
                    engine: self.engine.engine,
                    tokens: self.tokens,
                    transport: self.engine.transport,
                    clock: self.engine.clock,
                    configuration: self.options.configuration
                )
                let changes = await model.changes()
                // It may have ended meanwhile, too.
                guard !Task.isCancelled else { return }
                self.hasBegun = true
                self.tell { $0.tripModel(self, didUpdate: .active) }
                // Also where nothing changed, as subscribers go without a word.
                let run = Task { try await model.run { await self.stopWithoutSubscribers() } }
                await withTaskCancellationHandler {
                    for await change in changes {
                        let trip = await model.snapshot
                        self.welcome()
                        guard !Task.isCancelled else { break }
                        self.take(change, trip)
                    }
                } onCancel: {
                    run.cancel()
                }
            } catch {
                self.tell {
                    $0.tripModel(self, didFailUpdateTripWithError: EngineFailure(stage: .token, error).grpcError)
                }
            }
            self.welcome()
            // When cancelled, another watch may have begun.
            guard !Task.isCancelled else { return }
            self.watching = nil
            self.tell { $0.tripModel(self, didUpdate: .inactive) }
        }
    }

    /// Passes a change on; the first change of an answer brings everything that the answer changed.
    private func take(_ change: TripChange, _ trip: TripSnapshot?) {
        if case .failure(let failure) = change {
            self.tell { $0.tripModel(self, didFailUpdateTripWithError: failure.grpcError) }
        }
        // A callback may have ended the watching, and begun another.
        guard let trip, !Task.isCancelled else { return }
        let updated = GMTSTripPropertyFields(from: self.told, to: trip)
        let isNewETA = trip.etaToNextWaypoint != self.told?.etaToNextWaypoint
        self.currentTrip = trip
        self.told = trip
        guard !updated.isEmpty || isNewETA else { return }
        for subscription in self.subscriptions { self.tell(subscription, of: trip, updated, isNewETA: isNewETA) }
    }

    private func tell(
        _ subscription: Subscription, of trip: TripSnapshot, _ updated: GMTSTripPropertyFields, isNewETA: Bool
    ) {
        func tell(_ field: GMTSTripPropertyFields, _ message: (any GMTCTripModelSubscriber) -> Void) {
            if updated.contains(field) { self.tell(subscription, message) }
        }
        tell(.tripStatus) { $0.tripModel(self, didUpdate: trip.status) }
        tell(.routeLastVehicleLocation) { $0.tripModel(self, didUpdate: trip.vehiclePosition) }
        tell(.pickupLocation) { $0.tripModel(self, didUpdatePickup: trip.pickupPoint) }
        tell(.dropoffLocation) { $0.tripModel(self, didUpdateDropoff: trip.dropoffPoint) }
        tell(.intermediateDestinations) {
            $0.tripModel(self, didUpdateIntermediateDestinations: trip.intermediateDestinations)
        }
        if isNewETA {
            self.tell(subscription) {
                $0.tripModel(self, didUpdateETAToNextWaypoint: Self.seconds(trip.etaToNextWaypoint))
            }
        }
        tell(.pickupTime) { $0.tripModel(self, didUpdatePickupETA: Self.seconds(trip.pickupTime)) }
        tell(.dropoffTime) { $0.tripModel(self, didUpdateDropoffETA: Self.seconds(trip.dropoffTime)) }
        tell(.remainingWaypoints) { $0.tripModel(self, didUpdateRemaining: trip.remainingWaypoints) }
        if let distance = trip.activeRouteDistanceMeters {
            tell(.remainingDistanceOfActiveRouteInMeters) {
                $0.tripModel(self, didUpdateActiveRouteRemainingDistance: Int32(clamping: distance))
            }
        }
        if let distance = trip.remainingDistanceMeters {
            tell(.distanceOfRemainingRouteInMeters) {
                $0.tripModel(self, didUpdateRemainingRouteDistance: Int32(clamping: distance))
            }
        }
        tell(.activeRoute) { $0.tripModel(self, didUpdateActiveRoute: trip.route) }
        tell(.activeRouteTraffic) { $0.tripModel(self, didUpdateActiveRouteTraffic: trip.traffic) }
        tell(.remainingRoute) { $0.tripModel(self, didUpdateRemainingRoute: trip.remainingRoute) }
        self.tell(subscription) { $0.tripModel(self, didUpdate: trip, updatedPropertyFields: updated) }
    }

    /// A time in Unix seconds, as the SDK tells it.
    private static func seconds(_ time: Date?) -> TimeInterval { time?.timeIntervalSince1970 ?? 0 }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf

/// A vehicle as it is shown, with the stops, which stay while it moves, and the ways to them apart from the rest.
///
/// An object, as it is handed on from thread to thread.
final class ShownVehicle: Sendable {
    /// The way to a stop from where the vehicle is before it.
    struct Leg: Hashable, Sendable {
        /// How long the way is, where that is known.
        var distance: Google_Protobuf_Int32Value?
        /// When the vehicle will be there, where that is known.
        var eta: Google_Protobuf_Timestamp?
        /// How long the way takes, where that is known.
        var duration: Google_Protobuf_Duration?
    }

    /// The vehicle as it is stored; of its stops those count that are shown.
    let vehicle: Vehicle
    /// The vehicle as it was before, where it differs by a report only.
    let former: Vehicle?
    /// The stops that are shown, as they are stored; they are the same instance until they change.
    let stops: [TripWaypoint]
    /// The way to each stop, as of now.
    let legs: [Leg]

    init(vehicle: Vehicle, former: Vehicle? = nil, stops: [TripWaypoint], legs: [Leg]) {
        self.vehicle = vehicle
        self.former = former
        self.stops = stops
        self.legs = legs
    }

    /// When the vehicle will be at its first stop, as its driver says or as is estimated.
    var eta: Google_Protobuf_Timestamp? {
        self.vehicle.hasEtaToFirstWaypoint ? self.vehicle.etaToFirstWaypoint : self.legs.first?.eta
    }

    /// How far it is to its first stop, as its driver says or as is estimated.
    var distance: Google_Protobuf_Int32Value? {
        self.vehicle.hasRemainingDistanceMeters ? self.vehicle.remainingDistanceMeters : self.legs.first?.distance
    }

    /// The whole vehicle.
    var whole: Vehicle {
        guard !self.legs.isEmpty else { return self.vehicle }
        var whole = self.vehicle
        if let eta { whole.etaToFirstWaypoint = eta }
        if let distance { whole.remainingDistanceMeters = distance }
        whole.waypoints = zip(self.stops, self.legs).map { $0.reached(by: $1) }
        return whole
    }
}

extension TripWaypoint {
    /// What is stored of the way to the stop.
    var leg: ShownVehicle.Leg {
        ShownVehicle.Leg(
            distance: self.hasDistanceMeters ? self.distanceMeters : nil, eta: self.hasEta ? self.eta : nil,
            duration: self.hasDuration ? self.duration : nil)
    }

    /// The stop without a way to it.
    var withoutLeg: TripWaypoint {
        var stop = self
        stop.clearDistanceMeters()
        stop.clearEta()
        stop.clearDuration()
        return stop
    }

    /// The stop with a way to it.
    func reached(by leg: ShownVehicle.Leg) -> TripWaypoint {
        var stop = self
        if let distance = leg.distance { stop.distanceMeters = distance }
        if let eta = leg.eta { stop.eta = eta }
        if let duration = leg.duration { stop.duration = duration }
        return stop
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf

/// A vehicle as responses show it: what was stored, and what follows from it at the time of reading.
enum VehicleView {
    /// The vehicle with the ways to its stops; `former` is what it was before, where it differs by a report only.
    static func show(_ vehicle: Vehicle, after former: Vehicle? = nil, context: CallContext) -> ShownVehicle {
        ShownVehicle(
            vehicle: vehicle, former: former, stops: vehicle.waypoints,
            legs: Self.legs(of: vehicle, context: context))
    }

    /// The vehicle without the parts that the reader has already.
    static func show(
        _ vehicle: Vehicle, to request: Maps_Fleetengine_V1_GetVehicleRequest, context: CallContext
    ) -> ShownVehicle {
        let shown = Self.show(vehicle, context: context)
        let hasSegment =
            request.hasCurrentRouteSegmentVersion && vehicle.hasCurrentRouteSegmentVersion
            && !(request.currentRouteSegmentVersion < vehicle.currentRouteSegmentVersion)
        let hasStops =
            request.hasWaypointsVersion && vehicle.hasWaypointsVersion
            && !(request.waypointsVersion < vehicle.waypointsVersion)
        guard hasSegment || hasStops else { return shown }
        var rest = vehicle
        if hasSegment { rest.currentRouteSegment = "" }
        return ShownVehicle(vehicle: rest, stops: hasStops ? [] : shown.stops, legs: shown.legs)
    }

    /// The vehicle with its place and those of its stops as a customer's search goes by them.
    ///
    /// Distances and times from the exact ones, for a few pickups, would give these away. A vehicle without `location`
    /// is found by no search.
    static func rough(_ vehicle: Vehicle) -> Vehicle {
        guard vehicle.lastLocation.hasLocation else { return vehicle }
        var rough = vehicle
        rough.lastLocation.location = vehicle.lastLocation.location.rough
        rough.waypoints = vehicle.waypoints.map { waypoint in
            var stop = waypoint
            stop.location.point = waypoint.location.point.rough
            return stop
        }
        return rough
    }

    /// A match of a rough vehicle as a customer may see it: what it offers, not whom it carries where.
    static func approximate(_ match: VehicleSearch.Match) -> VehicleSearch.Match {
        var shown = match
        shown.vehicleTripsWaypoints = []
        shown.vehicle = .with {
            $0.name = match.vehicle.name
            $0.vehicleState = match.vehicle.vehicleState
            $0.supportedTripTypes = match.vehicle.supportedTripTypes
            $0.maximumCapacity = match.vehicle.maximumCapacity
            $0.attributes = match.vehicle.attributes
            $0.vehicleType = match.vehicle.vehicleType
            $0.lastLocation.location = match.vehicle.lastLocation.location
            $0.lastLocation.serverTime = match.vehicle.lastLocation.serverTime
            if match.vehicle.lastLocation.hasHeading { $0.lastLocation.heading = match.vehicle.lastLocation.heading }
        }
        return shown
    }

    /// The stops of a vehicle with distance, time and duration of each leg.
    static func timed(_ vehicle: Vehicle, context: CallContext) -> [TripWaypoint] {
        zip(vehicle.waypoints, Self.legs(of: vehicle, context: context)).map { $0.reached(by: $1) }
    }

    /// The ways to the stops of a vehicle.
    ///
    /// The first leg is what the driver reported, as far as it did; the rest is estimated, from when the vehicle was where
    /// it is shown. Without a position the first leg is known from the driver alone, and nothing behind it without a time.
    private static func legs(of vehicle: Vehicle, context: CallContext) -> [ShownVehicle.Leg] {
        let now = Google_Protobuf_Timestamp(stamping: context.now)
        var place = vehicle.lastLocation.place
        let taken = place == nil ? now : vehicle.lastLocation.serverTime
        var time = now < taken ? now : taken
        let stops = vehicle.waypoints
        var legs: [ShownVehicle.Leg] = []
        legs.reserveCapacity(stops.count)
        for stop in stops {
            let goal = stop.location.point
            let way = place.map { context.routes.estimate(from: $0, to: goal, by: vehicle.vehicleType.category) }
            var arrival = way.map { time.advanced(by: $0.duration) }
            var meters = way.map { Int32(clamping: Int64($0.meters.rounded())) }
            if legs.isEmpty {
                if vehicle.hasEtaToFirstWaypoint { arrival = vehicle.etaToFirstWaypoint }
                if vehicle.hasRemainingDistanceMeters { meters = vehicle.remainingDistanceMeters.value }
            }
            // What is stored of a way counts where nothing else tells.
            var leg = arrival == nil || meters == nil ? stop.leg : ShownVehicle.Leg()
            if let meters { leg.distance = Google_Protobuf_Int32Value(meters) }
            guard let arrival else {
                legs.append(leg)
                break
            }
            leg.eta = arrival
            leg.duration = Google_Protobuf_Duration(max(.zero, time.duration(to: arrival)))
            legs.append(leg)
            time = arrival < now ? now : arrival
            place = goal
        }
        for stop in stops[legs.count...] { legs.append(stop.leg) }
        return legs
    }
}

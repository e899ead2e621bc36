// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf

/// One search for vehicles near a pickup, checked and ready to rank candidates.
struct VehicleSearch {
    typealias Request = Maps_Fleetengine_V1_SearchVehiclesRequest
    typealias Match = Maps_Fleetengine_V1_VehicleMatch

    private let request: Request
    private let tripType: TripType
    private let attributes: AttributeCriteria
    private let maximumStaleness: Duration
    private let context: CallContext
    private let now: Google_Protobuf_Timestamp

    /// Where the passenger waits.
    var pickup: LatLng { self.request.pickupPoint.point }

    /// How far from the pickup a vehicle may be.
    var radiusMeters: Double { Double(self.request.pickupRadiusMeters) }

    /// How many vehicles are wanted.
    var count: Int { Int(self.request.count) }

    /// Checks a search.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    init(_ request: Request, context: CallContext) throws(EngineError) {
        self.tripType = try Self.check(request)
        self.attributes = try AttributeCriteria(request)
        self.maximumStaleness =
            request.hasMaximumStaleness ? Duration(request.maximumStaleness) : .seconds(300)
        guard self.maximumStaleness > .zero else {
            throw .invalidArgument("maximum_staleness must be positive.", field: "maximum_staleness")
        }
        self.request = request
        self.context = context
        self.now = Google_Protobuf_Timestamp(stamping: context.now)
    }

    /// Looks whether a vehicle fits.
    ///
    /// - Parameters:
    ///   - vehicle: A vehicle.
    ///   - trips: Looks up its trips, by id.
    /// - Returns: The match that it makes, and its score, of which less is better; `nil` for one that does not fit.
    /// - Throws: What `trips` throws.
    func match(_ vehicle: Vehicle, trips: () throws -> [String: Trip]) throws -> (score: Double, match: Match)? {
        guard self.fits(vehicle), let type = try self.matchType(of: vehicle, trips: trips) else { return nil }
        let match = self.match(vehicle, type)
        return (self.score(match), match)
    }

    /// The best score that a vehicle can have that is at least so far from the pickup in a straight line.
    func bestScore(fromMeters meters: Double) -> Double {
        // A vehicle that must finish a trip first comes from its last stop, which may be anywhere.
        guard !self.request.includeBackToBack else { return 0 }
        let ways = self.request.vehicleTypes.map { self.context.routes.shortest(acrossMeters: meters, by: $0.category) }
        return switch self.request.orderBy {
        case .pickupPointStraightDistance: meters - 1
        case .pickupPointDistance: (ways.map(\.meters).min() ?? 0) - 1
        case .dropoffPointEta, .pickupPointEta, .cost, .unknownVehicleMatchOrder, .UNRECOGNIZED:
            (ways.map(\.duration).min() ?? .zero) / .seconds(1) - 1
        }
    }
}

// MARK: - Candidates

extension VehicleSearch {
    private func fits(_ vehicle: Vehicle) -> Bool {
        let location = vehicle.lastLocation
        return vehicle.vehicleState == .online && location.hasLocation
            && location.location.meters(to: self.pickup) <= self.radiusMeters
            && location.serverTime.duration(to: self.now) <= self.maximumStaleness
            && vehicle.supportedTripTypes.contains(self.tripType)
            && vehicle.maximumCapacity >= self.request.minimumCapacity
            && self.request.vehicleTypes.contains { $0.category == vehicle.vehicleType.category }
            && self.attributes.match(vehicle.attributes)
    }

    /// How a vehicle would take the trip, or `nil` when its present trips stand against it.
    private func matchType(
        of vehicle: Vehicle, trips: () throws -> [String: Trip]
    ) throws -> Match.VehicleMatchType? {
        guard !vehicle.currentTrips.isEmpty else { return .exclusive }
        switch self.request.currentTripsPresent {
        case .any:
            return vehicle.currentTrips.count <= 5 && vehicle.waypoints.count <= 10 ? .carpool : nil
        case .unspecified:
            guard self.request.includeBackToBack, vehicle.backToBackEnabled, vehicle.currentTrips.count == 1,
                let trip = try trips().values.first, trip.tripStatus == .enrouteToDropoff
            else { return nil }
            return .backToBack
        case .none, .UNRECOGNIZED:
            return nil
        }
    }

    private func match(_ vehicle: Vehicle, _ type: Match.VehicleMatchType) -> Match {
        let pickup = self.pickup
        let category = vehicle.vehicleType.category
        let stops = VehicleView.timed(vehicle, context: self.context)
        // A vehicle that must finish a trip first comes by way of its stops.
        let before = type == .backToBack ? stops : []
        let start = before.last?.location.point ?? vehicle.lastLocation.location
        let departure = before.last.map { $0.eta < self.now ? self.now : $0.eta } ?? self.now
        let leg = self.context.routes.estimate(from: start, to: pickup, by: category)
        let meters = leg.meters + before.reduce(0) { $0 + Double($1.distanceMeters.value) }
        let pickupTime = departure.advanced(by: leg.duration)

        var match = Match()
        match.vehicle = VehicleView.show(vehicle, context: self.context)
        match.vehiclePickupEta = pickupTime
        match.vehiclePickupDistanceMeters = Self.whole(meters)
        match.vehiclePickupStraightLineDistanceMeters = Self.whole(vehicle.lastLocation.location.meters(to: pickup))
        if self.request.hasDropoffPoint {
            let way = self.context.routes.estimate(from: pickup, to: self.request.dropoffPoint.point, by: category)
            match.vehicleDropoffEta = pickupTime.advanced(by: way.duration)
            match.vehiclePickupToDropoffDistanceMeters = Self.whole(way.meters)
        }
        match.tripType = self.tripType
        match.vehicleTripsWaypoints = stops.map { stop in
            .with {
                $0.latLng = stop.location.point
                if stop.hasEta { $0.eta = stop.eta }
            }
        }
        match.vehicleMatchType = type
        match.requestedOrderedBy = self.request.orderBy
        match.orderedBy = self.request.orderBy
        return match
    }

    private func score(_ match: Match) -> Double {
        switch self.request.orderBy {
        case .pickupPointDistance: Double(match.vehiclePickupDistanceMeters.value)
        case .pickupPointStraightDistance: Double(match.vehiclePickupStraightLineDistanceMeters.value)
        case .dropoffPointEta: self.now.duration(to: match.vehicleDropoffEta) / .seconds(1)
        case .pickupPointEta, .cost, .unknownVehicleMatchOrder, .UNRECOGNIZED:
            self.now.duration(to: match.vehiclePickupEta) / .seconds(1)
        }
    }

    private static func whole(_ meters: Double) -> Google_Protobuf_Int32Value {
        Google_Protobuf_Int32Value(Int32(clamping: Int64(meters.rounded())))
    }
}

// MARK: - Checks

extension VehicleSearch {
    private static func check(_ request: Request) throws(EngineError) -> TripType {
        func require(_ holds: Bool, _ field: String, _ problem: String) throws(EngineError) {
            guard holds else { throw .invalidArgument("\(field) \(problem).", field: field) }
        }
        try require(request.pickupPoint.hasPoint, "pickup_point", "needs a point")
        try request.pickupPoint.point.check("pickup_point.point")
        if request.hasDropoffPoint {
            try require(request.dropoffPoint.hasPoint, "dropoff_point", "needs a point")
            try request.dropoffPoint.point.check("dropoff_point.point")
        }
        try require(
            (400...10_000).contains(request.pickupRadiusMeters), "pickup_radius_meters", "goes from 400 to 10000")
        try require((1...50).contains(request.count), "count", "goes from 1 to 50")
        try require(request.minimumCapacity >= 1, "minimum_capacity", "must be at least 1")
        guard request.tripTypes.count == 1, let type = request.tripTypes.first, type == .shared || type == .exclusive
        else {
            throw .invalidArgument("trip_types must hold exactly one of SHARED and EXCLUSIVE.", field: "trip_types")
        }
        let categories = Vehicle.VehicleType.Category.allCases.dropFirst()
        try require(
            !request.vehicleTypes.isEmpty && request.vehicleTypes.allSatisfy { categories.contains($0.category) },
            "vehicle_types", "must list at least one category, none UNKNOWN"
        )
        try require(
            Request.VehicleMatchOrder.allCases.dropFirst().contains(request.orderBy), "order_by",
            "is required and must be a known order"
        )
        try require(
            request.hasDropoffPoint || type == .exclusive && request.orderBy != .dropoffPointEta, "dropoff_point",
            "is required for SHARED trips and for DROPOFF_POINT_ETA"
        )
        try require(
            Request.CurrentTripsPresent.allCases.contains(request.currentTripsPresent), "current_trips_present",
            "is not a known value"
        )
        try require(
            request.currentTripsPresent != .unspecified || type == .exclusive, "current_trips_present",
            "must be NONE or ANY for SHARED trips"
        )
        try require(
            request.currentTripsPresent == .unspecified || !request.includeBackToBack, "include_back_to_back",
            "must be false where current_trips_present is specified"
        )
        return type
    }
}

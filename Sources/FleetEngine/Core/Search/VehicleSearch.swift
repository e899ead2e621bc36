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
    private let categories: Set<Vehicle.VehicleType.Category>
    private let attributes: AttributeCriteria
    private let maximumStaleness: Duration
    private let context: CallContext
    private let now: Google_Protobuf_Timestamp

    /// Where the passenger waits.
    var pickup: LatLng { self.request.pickupPoint.point }

    /// How far from the pickup a vehicle may really be that the search takes to be within the radius.
    var reachMeters: Double { self.radiusMeters + self.roughMeters }

    private var radiusMeters: Double { Double(self.request.pickupRadiusMeters) }

    /// How far a vehicle may be from where the search takes it to be.
    private var roughMeters: Double { self.context.seesEveryVehicle ? 0 : LatLng.roughMeters }

    /// How many vehicles are wanted.
    var count: Int { Int(self.request.count) }

    /// How many vehicles stay in the running until their ways are measured: at most 150, of which each is a question to a
    /// router.
    var shortlist: Int {
        let isByRoad = self.context.routes.followsRoads && self.request.orderBy != .pickupPointStraightDistance
        return isByRoad ? max(3 * self.count, 50) : self.count
    }

    /// Checks a search.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    init(_ request: Request, context: CallContext) throws(EngineError) {
        self.tripType = try Self.check(request)
        self.categories = Set(request.vehicleTypes.map(\.category))
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

    /// A vehicle that fits, and how it would come.
    struct Candidate {
        let vehicle: Vehicle
        /// What the candidates are ranked by; less is better.
        let score: Double
        fileprivate let type: Match.VehicleMatchType
        /// The stops that it makes first.
        fileprivate let before: [TripWaypoint]
        fileprivate let meters: Double
        fileprivate let pickupTime: Google_Protobuf_Timestamp
        /// The way with the passenger, where it is known where to.
        fileprivate let ride: RouteEstimate?
    }

    /// Looks whether a vehicle fits.
    ///
    /// - Parameters:
    ///   - stored: A vehicle.
    ///   - trips: Looks up its trips, by id.
    /// - Returns: The vehicle as the caller may see it, with its score by straight lines; `nil` for one that does not fit.
    /// - Throws: What `trips` throws.
    func candidate(_ stored: Vehicle, trips: () throws -> [String: Trip]) throws -> Candidate? {
        let vehicle = self.context.seesEveryVehicle ? stored : VehicleView.rough(stored)
        guard self.fits(vehicle), let type = try self.matchType(of: vehicle, trips: trips) else { return nil }
        return self.measure(vehicle, type, by: StraightLineEstimator())
    }

    /// A candidate with its score by roads; `nil` where not all of its way is known, which is asked for then.
    func alongRoads(_ candidate: Candidate) -> Candidate? {
        let routes = self.context.routes
        guard routes.followsRoads else { return candidate }
        let category = candidate.vehicle.vehicleType.category
        let stops = candidate.before.map(\.location.point) + [self.pickup]
        var start = candidate.vehicle.lastLocation.location
        var isKnown = true
        for stop in stops + (self.request.hasDropoffPoint ? [self.request.dropoffPoint.point] : []) {
            if !routes.isKnown(from: start, to: stop, by: category) { isKnown = false }
            start = stop
        }
        return isKnown ? self.measure(candidate.vehicle, candidate.type, by: routes) : nil
    }

    private func measure(
        _ vehicle: Vehicle, _ type: Match.VehicleMatchType, by routes: any RouteEstimator
    ) -> Candidate {
        let category = vehicle.vehicleType.category
        var context = self.context
        context.routes = routes
        let before = type.comesAfterTrips ? VehicleView.timed(vehicle, context: context) : []
        let start = before.last?.location.point ?? vehicle.lastLocation.location
        let departure = before.last.map { $0.eta < self.now ? self.now : $0.eta } ?? self.now
        let leg = routes.estimate(from: start, to: self.pickup, by: category)
        let meters = leg.meters + before.reduce(0) { $0 + Double($1.distanceMeters.value) }
        let pickupTime = departure.advanced(by: leg.duration)
        let ride =
            self.request.hasDropoffPoint
            ? routes.estimate(from: self.pickup, to: self.request.dropoffPoint.point, by: category) : nil
        let score =
            switch self.request.orderBy {
            case .pickupPointDistance: Double(Self.whole(meters))
            case .pickupPointStraightDistance: Double(Self.whole(self.straightMeters(to: vehicle)))
            case .dropoffPointEta:
                self.now.duration(to: pickupTime.advanced(by: ride?.duration ?? .zero)) / .seconds(1)
            case .pickupPointEta, .cost, .unknownVehicleMatchOrder, .UNRECOGNIZED:
                self.now.duration(to: pickupTime) / .seconds(1)
            }
        return Candidate(
            vehicle: vehicle, score: score, type: type, before: before, meters: meters, pickupTime: pickupTime,
            ride: ride)
    }

    /// A candidate as the response shows it.
    func match(_ candidate: Candidate) -> Match {
        let vehicle = candidate.vehicle
        var match = Match()
        // Who is shown nothing of the stops needs no ways to them.
        match.vehicle =
            self.context.seesEveryVehicle ? VehicleView.show(vehicle, context: self.context).whole : vehicle
        match.vehiclePickupEta = candidate.pickupTime
        match.vehiclePickupDistanceMeters = .init(Self.whole(candidate.meters))
        match.vehiclePickupStraightLineDistanceMeters = .init(Self.whole(self.straightMeters(to: vehicle)))
        if let ride = candidate.ride {
            match.vehicleDropoffEta = candidate.pickupTime.advanced(by: ride.duration)
            match.vehiclePickupToDropoffDistanceMeters = .init(Self.whole(ride.meters))
        }
        match.tripType = self.tripType
        // The way that the time and distance beside it are of.
        let start = Maps_Fleetengine_V1_Waypoint.with { $0.latLng = vehicle.lastLocation.location }
        let stops = candidate.before.map { stop in
            Maps_Fleetengine_V1_Waypoint.with {
                $0.latLng = stop.location.point
                if stop.hasEta { $0.eta = stop.eta }
            }
        }
        let pickup = Maps_Fleetengine_V1_Waypoint.with {
            $0.latLng = self.pickup
            $0.eta = candidate.pickupTime
        }
        match.vehicleTripsWaypoints = [start] + stops + [pickup]
        match.vehicleMatchType = candidate.type
        match.requestedOrderedBy = self.request.orderBy
        match.orderedBy = self.request.orderBy
        return match
    }

    /// The best score that a vehicle can have that is at least so far from the pickup in a straight line.
    func bestScore(fromMeters meters: Double) -> Double {
        let meters = max(0, meters - self.roughMeters)
        if self.request.orderBy == .pickupPointStraightDistance { return meters - 1 }
        // A vehicle that must finish its trips first comes from its last stop, which may be anywhere.
        guard !self.request.includeBackToBack, self.request.currentTripsPresent != .any else { return 0 }
        let ways = self.categories.map { StraightLineEstimator().shortest(acrossMeters: meters, by: $0) }
        return switch self.request.orderBy {
        case .pickupPointDistance: (ways.map(\.meters).min() ?? 0) - 1
        case .pickupPointStraightDistance, .dropoffPointEta, .pickupPointEta, .cost, .unknownVehicleMatchOrder,
            .UNRECOGNIZED:
            (ways.map(\.duration).min() ?? .zero) / .seconds(1) - 1
        }
    }
}

extension VehicleSearch.Match.VehicleMatchType {
    /// Whether the vehicle finishes its trips first, and comes by way of their stops.
    fileprivate var comesAfterTrips: Bool { self == .backToBack || self == .carpoolBackToBack }
}

// MARK: - Candidates

extension VehicleSearch {
    private func fits(_ vehicle: Vehicle) -> Bool {
        let location = vehicle.lastLocation
        return vehicle.vehicleState == .online && location.hasLocation
            && self.straightMeters(to: vehicle) <= self.radiusMeters
            && location.serverTime.duration(to: self.now) <= self.maximumStaleness
            && vehicle.supportedTripTypes.contains(self.tripType)
            && vehicle.maximumCapacity >= self.request.minimumCapacity
            && self.categories.contains(vehicle.vehicleType.category)
            && self.attributes.match(vehicle.attributes)
    }

    /// How a vehicle would take the trip, or `nil` when its present trips stand against it.
    private func matchType(
        of vehicle: Vehicle, trips: () throws -> [String: Trip]
    ) throws -> Match.VehicleMatchType? {
        guard !vehicle.currentTrips.isEmpty else { return .exclusive }
        switch self.request.currentTripsPresent {
        case .any:
            guard vehicle.currentTrips.count <= 5, vehicle.waypoints.count <= 10 else { return nil }
            let trips = try trips().values
            // Passengers of an exclusive trip have no company: one of both rides first.
            guard self.tripType != .exclusive, !trips.contains(where: { $0.tripType == .exclusive }) else {
                return vehicle.waypoints.isEmpty ? nil : .carpoolBackToBack
            }
            let aboard = trips.reduce(0) { $0 + Int($1.numberOfPassengers) }
            return Int(vehicle.maximumCapacity) - aboard >= Int(self.request.minimumCapacity) ? .carpool : nil
        case .unspecified:
            guard self.request.includeBackToBack, vehicle.backToBackEnabled, vehicle.currentTrips.count == 1,
                let trip = try trips().values.first, trip.tripStatus == .enrouteToDropoff,
                // Where nothing tells where it ends, nobody knows when the vehicle would come.
                !vehicle.waypoints.isEmpty
            else { return nil }
            return .backToBack
        case .none, .UNRECOGNIZED:
            return nil
        }
    }

    private func straightMeters(to vehicle: Vehicle) -> Double {
        vehicle.lastLocation.location.meters(to: self.pickup)
    }

    private static func whole(_ meters: Double) -> Int32 { Int32(clamping: Int64(meters.rounded())) }
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
        try require(request.vehicleTypes.count <= 50, "vehicle_types", "holds more than 50")
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

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf

/// The way of a delivery vehicle through its stops, as it looks at one time.
struct DeliveryWay {
    /// How near the end of a driver's route must be to the first stop to lead there.
    static let reachMeters = 100.0
    /// How old the last location may be for the driver's route to hold.
    private static let freshness = Duration.seconds(300)

    /// The way to one stop.
    struct Leg {
        /// `nil` where nobody knows where it starts.
        var estimate: RouteEstimate?
        /// Where it leads along.
        var path: [LatLng]
        /// Whether the vehicle has come to its end.
        var hasArrived: Bool
        /// How long the tasks at its end take.
        var service: Duration
    }

    let legs: [Leg]
    private let now: Google_Protobuf_Timestamp
    /// From when the first way is counted.
    private let start: Google_Protobuf_Timestamp

    /// Estimates the way; the first leg is what the driver reported, where its route leads to the first stop.
    ///
    /// - Parameters:
    ///   - vehicle: The vehicle.
    ///   - last: The last stop that matters; `nil` where all do.
    ///   - context: The time of reading, and who estimates.
    init(of vehicle: DeliveryVehicle, upTo last: Int? = nil, context: CallContext) {
        let now = Google_Protobuf_Timestamp(stamping: context.now)
        var place = vehicle.hasLastLocation ? vehicle.lastLocation.place : nil
        var start = place == nil ? now : vehicle.lastLocation.serverTime
        var legs: [Leg] = []
        var points = 0
        let segments = vehicle.remainingVehicleJourneySegments
        for (index, segment) in segments.prefix(last.map { $0 + 1 } ?? segments.count).enumerated() {
            let goal = segment.stop.plannedLocation.point
            let hasArrived = index == 0 && segment.stop.state == .arrived
            var estimate = place.map { context.routes.estimate(from: $0, to: goal, by: vehicle.type.category) }
            if hasArrived {
                estimate = RouteEstimate(meters: 0, duration: .zero, path: [])
                start = now
            } else if index == 0, let way = estimate, Self.isLed(vehicle, to: goal, at: now) {
                estimate = Self.reported(by: vehicle, otherwise: way, at: now)
                // From here on nothing is left of the reported duration.
                if vehicle.hasRemainingDuration { start = DeliveryVehicleView.arrival(of: vehicle) }
            }
            points += estimate?.path.count ?? 0
            legs.append(
                Leg(
                    estimate: estimate,
                    path: estimate?.path ?? [],
                    hasArrived: hasArrived,
                    service: segment.stop.tasks.reduce(.zero) { $0 + Duration($1.taskDuration) }
                )
            )
            place = goal
        }
        if points > PathLimit.maximumPoints {
            for index in legs.indices { legs[index].path = PathLimit.thinned(legs[index].path, of: points) }
        }
        self.legs = legs
        self.now = now
        self.start = now < start ? now : start
    }

    /// The metres up to a stop, as far as they are known.
    func meters(to stop: Int) -> Double? {
        self.legs[...stop].reduce(0.0 as Double?) { sum, leg in
            sum.flatMap { sum in leg.estimate.map { sum + $0.meters } }
        }
    }

    /// When the vehicle comes to a stop, as far as that is known: ways, and the tasks before.
    ///
    /// It stays between two reports: the first way is counted from when the vehicle was where it is shown, or as the
    /// driver reported it. The ways behind a stop that should have been reached, and is not left, are counted from now.
    func arrival(at stop: Int) -> Google_Protobuf_Timestamp? {
        var departure = self.start
        for leg in self.legs[..<stop] {
            guard let estimate = leg.estimate else { return nil }
            let arrival = departure.advanced(by: estimate.duration)
            departure = (arrival < self.now ? self.now : arrival).advanced(by: leg.service)
        }
        return self.legs[stop].estimate.map { departure.advanced(by: $0.duration) }
    }

    /// How long it is until the ``arrival(at:)``; zero once that is over.
    func duration(to stop: Int) -> Duration? {
        self.arrival(at: stop).map { max(.zero, self.now.duration(to: $0)) }
    }

    private static func isLed(
        _ vehicle: DeliveryVehicle, to goal: LatLng, at now: Google_Protobuf_Timestamp
    ) -> Bool {
        !vehicle.currentRouteSegment.isEmpty && vehicle.hasCurrentRouteSegmentEndPoint
            && vehicle.lastLocation.serverTime.duration(to: now) <= Self.freshness
            && vehicle.currentRouteSegmentEndPoint.meters(to: goal) <= Self.reachMeters
    }

    private static func reported(
        by vehicle: DeliveryVehicle, otherwise estimate: RouteEstimate, at now: Google_Protobuf_Timestamp
    ) -> RouteEstimate {
        var reported = estimate
        if vehicle.hasRemainingDistanceMeters { reported.meters = Double(vehicle.remainingDistanceMeters.value) }
        if vehicle.hasRemainingDuration { reported.duration = DeliveryVehicleView.remaining(of: vehicle, at: now) }
        return reported
    }
}

extension DeliveryVehicle.DeliveryVehicleType {
    /// The category whose usual speed the vehicle has.
    fileprivate var category: Vehicle.VehicleType.Category {
        switch self {
        case .unspecified, .auto, .UNRECOGNIZED: .auto
        case .twoWheeler: .twoWheeler
        case .bicycle: .bicycle
        case .pedestrian: .pedestrian
        }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf

/// The stops ahead of a vehicle, over all its trips, in the order in which it makes them.
///
/// The vehicle's `waypoints` are the one place where they are kept; what trips show of them is derived.
enum Itinerary {
    /// Replaces the stops of a vehicle.
    ///
    /// What the driver reported of the way to the first stop holds only as long as that stop does, and a segment only as
    /// long as the stop that it ends at.
    static func replace(_ waypoints: [TripWaypoint], in vehicle: inout Vehicle, at now: Google_Protobuf_Timestamp) {
        guard waypoints != vehicle.waypoints else { return }
        let headsElsewhere = waypoints.first != vehicle.waypoints.first
        let endsNowhere =
            self.isSegmentEnd(of: vehicle, among: vehicle.waypoints)
            && !self.isSegmentEnd(of: vehicle, among: waypoints)
        vehicle.waypoints = waypoints
        vehicle.waypointsVersion = .version(after: vehicle.waypointsVersion, at: now)
        guard headsElsewhere || endsNowhere else { return }
        // Who reads by the version learns from a newer one that the way ends, also where there was no segment.
        if vehicle.hasCurrentRouteSegmentVersion {
            vehicle.currentRouteSegment = ""
            vehicle.currentRouteSegmentVersion = .version(after: vehicle.currentRouteSegmentVersion, at: now)
        }
        vehicle.clearCurrentRouteSegmentEndPoint()
        if headsElsewhere, !waypoints.isEmpty {
            vehicle.clearEtaToFirstWaypoint()
            vehicle.clearRemainingDistanceMeters()
        }
    }

    private static func isSegmentEnd(of vehicle: Vehicle, among waypoints: [TripWaypoint]) -> Bool {
        guard vehicle.hasCurrentRouteSegmentEndPoint else { return false }
        let end = vehicle.currentRouteSegmentEndPoint.untimed
        return waypoints.contains { $0.untimed == end }
    }

    /// The plan with the stops that one trip has left.
    ///
    /// The last ones take the places that the trip had; stops without a place of old come before these. A trip that is
    /// new to the plan comes at the end, or, with its passengers aboard, before it would give an exclusive trip company.
    /// So does one whose passengers were picked up out of turn, where it would give or get company in its places.
    static func placing(
        _ stops: [TripWaypoint], of trip: String, aboard: Bool, in plan: [TripWaypoint], tripTypes: [String: TripType]
    ) -> [TripWaypoint] {
        let places = plan.count { $0.tripID == trip }
        guard places > 0 else {
            let place = plan.firstIndex { aboard && [tripTypes[trip], tripTypes[$0.tripID]].contains(.exclusive) }
            return plan[..<(place ?? plan.endIndex)] + stops + plan[(place ?? plan.endIndex)...]
        }
        var left = stops[...]
        var placed: [TripWaypoint] = []
        var place = 0
        for waypoint in plan {
            guard waypoint.tripID == trip else {
                placed.append(waypoint)
                continue
            }
            place += 1
            let wanted = left.count - (places - place)
            if wanted > 0 {
                placed += left.prefix(wanted)
                left = left.dropFirst(wanted)
            }
        }
        let isPickedUp = aboard && plan.contains { $0.tripID == trip && $0.waypointType == .pickupWaypointType }
        guard isPickedUp, self.breaksExclusiveRide(trip, in: placed, tripTypes: tripTypes) else { return placed }
        return self.placing(stops, of: trip, aboard: true, in: plan.filter { $0.tripID != trip }, tripTypes: tripTypes)
    }

    /// Whether a trip's passengers ride along with others though one of both trips is exclusive.
    private static func breaksExclusiveRide(
        _ trip: String, in plan: [TripWaypoint], tripTypes: [String: TripType]
    ) -> Bool {
        let rides = self.rides(of: plan)
        guard let own = rides[trip] else { return false }
        return rides.contains { other, ride in
            other != trip && [tripTypes[trip], tripTypes[other]].contains(.exclusive) && ride.overlaps(own)
        }
    }

    /// The path of one trip: all stops up to its last one, those of other trips included.
    static func path(of trip: String, in plan: [TripWaypoint]) -> [TripWaypoint] {
        guard let last = plan.lastIndex(where: { $0.tripID == trip }) else { return [] }
        return Array(plan[...last])
    }

    /// The trips of either plan whose path is not the same in both.
    static func trips(withOtherPathsIn plan: [TripWaypoint], than former: [TripWaypoint]) -> Set<String> {
        guard plan != former else { return [] }
        func lastStops(_ plan: [TripWaypoint]) -> [String: Int] {
            Dictionary(zip(plan.map(\.tripID), plan.indices)) { _, later in later }
        }
        let (now, before) = (lastStops(plan), lastStops(former))
        let other = zip(plan, former).enumerated().first { $0.element.0 != $0.element.1 }?.offset
        let kept = other ?? min(plan.count, former.count)
        return Set(now.keys).union(before.keys).filter { trip in
            guard let last = now[trip], last == before[trip] else { return true }
            return last >= kept
        }
    }

    /// Brings stops into an order that a request asks for.
    ///
    /// - Parameters:
    ///   - plan: The stops, each trip's in the order in which they must be made.
    ///   - wanted: The order; only trip id, type and location of each count.
    ///   - tripTypes: The types of the trips, by id.
    ///   - field: The request's field, for messages.
    /// - Returns: The stops of the plan in the wanted order; the plan's own is always taken.
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT` when the order adds or drops a stop, turns a trip's round, or
    ///   gives an exclusive trip's passengers company.
    static func order(
        _ plan: [TripWaypoint], as wanted: [TripWaypoint], tripTypes: [String: TripType], field: String
    ) throws(EngineError) -> [TripWaypoint] {
        func turned(_ trip: String) -> EngineError {
            .invalidArgument(
                "\(field) turns the stops of trip \"\(trip)\" round; pickup, destinations, drop-off is the order.",
                field: field
            )
        }
        var left = Dictionary(grouping: plan.indices, by: { StopKind(of: plan[$0]) }).mapValues { $0[...] }
        var order: [Int] = []
        for waypoint in wanted {
            let kind = StopKind(of: waypoint)
            let places = left[kind] ?? []
            guard let next = places.first, waypoint.names(plan[next]) else {
                if places.contains(where: { waypoint.names(plan[$0]) }) { throw turned(waypoint.tripID) }
                throw .invalidArgument(
                    "\(field) holds a \(waypoint.waypointType.contractName) of trip \"\(waypoint.tripID.prefix(64))\" that is not a "
                        + "remaining stop, or holds it twice.",
                    field: field
                )
            }
            order.append(next)
            left[kind] = places.dropFirst()
        }
        guard order.count == plan.count else {
            throw .invalidArgument(
                "\(field) leaves out \(plan.count - order.count) remaining stops; list every stop once.", field: field)
        }
        let positions = Dictionary(grouping: order.indices, by: { plan[order[$0]].tripID })
        for (trip, positions) in positions {
            guard zip(positions, positions.dropFirst()).allSatisfy({ order[$0] < order[$1] }) else {
                throw turned(trip)
            }
        }
        // What the vehicle has already is no worse for being told again.
        guard !order.elementsEqual(plan.indices) else { return plan }
        let ordered = order.map { plan[$0] }
        // In the order in which they begin, the first ride that breaks the rule overlaps the one that ends last so far.
        var last: (trip: String, ride: ClosedRange<Int>)?
        for (trip, ride) in self.rides(of: ordered).sorted(by: { $0.value.lowerBound < $1.value.lowerBound }) {
            if let last, last.ride.overlaps(ride), [tripTypes[last.trip], tripTypes[trip]].contains(.exclusive) {
                let isExclusive = tripTypes[trip] == .exclusive
                throw .invalidArgument(
                    "\(field) has passengers of trip \"\(isExclusive ? last.trip : trip)\" aboard during the exclusive "
                        + "trip \"\(isExclusive ? trip : last.trip)\"; end one before the other begins.",
                    field: field
                )
            }
            if last.map({ $0.ride.upperBound < ride.upperBound }) ?? true { last = (trip, ride) }
        }
        return ordered
    }

    /// From which to which stop each trip's passengers are aboard; from before the first where they are already.
    private static func rides(of plan: [TripWaypoint]) -> [String: ClosedRange<Int>] {
        Dictionary(grouping: plan.indices, by: { plan[$0].tripID }).mapValues { positions in
            let isAboard = !positions.contains { plan[$0].waypointType == .pickupWaypointType }
            return (isAboard ? -1 : positions[0])...positions[positions.count - 1]
        }
    }

    /// Where the vehicle's segment ends, for the passengers of a trip.
    ///
    /// - Parameters:
    ///   - vehicle: The vehicle.
    ///   - trip: One of its trips.
    ///   - path: That trip's path.
    /// - Returns: The end; `nil` where it may be a stop behind the path, the way to which is other passengers' affair.
    static func segmentEnd(of vehicle: Vehicle, for trip: String, path: [TripWaypoint]) -> TripWaypoint? {
        guard let first = path.first else { return nil }
        guard vehicle.hasCurrentRouteSegmentEndPoint else { return first }
        let end = vehicle.currentRouteSegmentEndPoint
        guard !end.tripID.isEmpty, end.tripID != trip else { return end }
        func isMeant(_ stop: TripWaypoint) -> Bool {
            stop.tripID == end.tripID && [.unknownWaypointType, stop.waypointType].contains(end.waypointType)
        }
        if path.contains(where: { $0.untimed == end }) { return end }
        return path.contains(where: isMeant) && !vehicle.waypoints[path.count...].contains(where: isMeant) ? end : nil
    }

    /// The stop that a reported segment end means, or the end as it was reported, without times.
    ///
    /// What the report leaves out fits every stop.
    static func recognise(_ end: TripWaypoint, among waypoints: [TripWaypoint]) -> TripWaypoint {
        let near = 50.0
        return waypoints.first { waypoint in
            (end.tripID.isEmpty || end.tripID == waypoint.tripID)
                && (end.waypointType == .unknownWaypointType || end.waypointType == waypoint.waypointType)
                && (!end.location.hasPoint || end.location.point.meters(to: waypoint.location.point) <= near)
        } ?? end.untimed
    }
}

extension Maps_Fleetengine_V1_WaypointType {
    /// The name in the contract; the number where there is none.
    fileprivate var contractName: String {
        switch self {
        case .unknownWaypointType: "UNKNOWN_WAYPOINT_TYPE"
        case .pickupWaypointType: "PICKUP_WAYPOINT_TYPE"
        case .dropOffWaypointType: "DROP_OFF_WAYPOINT_TYPE"
        case .intermediateDestinationWaypointType: "INTERMEDIATE_DESTINATION_WAYPOINT_TYPE"
        case .UNRECOGNIZED(let number): "waypoint of type \(number)"
        }
    }
}

/// What tells stops of a plan apart without their places, which only the destinations of one trip have in common.
private struct StopKind: Hashable {
    private let trip: String
    private let type: Maps_Fleetengine_V1_WaypointType

    init(of waypoint: TripWaypoint) {
        self.trip = waypoint.tripID
        self.type = waypoint.waypointType
    }
}

extension TripWaypoint {
    /// The stop itself, without the way there.
    var untimed: TripWaypoint {
        var stop = TripWaypoint()
        stop.tripID = self.tripID
        stop.waypointType = self.waypointType
        if self.hasLocation { stop.location = self.location }
        return stop
    }

    /// Whether a waypoint in a request means this stop of its kind.
    fileprivate func names(_ stop: TripWaypoint) -> Bool {
        guard self.hasLocation, self.location.hasPoint else { return true }
        return self.location.point.meters(to: stop.location.point) < 1
    }
}

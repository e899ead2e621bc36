// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// What happens around a trip when it changes: plans of vehicles, times and places of record.
enum TripEffects {
    /// The most stops that a vehicle has ahead over all its trips; the engine's own limit, as each answer to a report has
    /// them.
    private static let maximumStops = 1000

    /// Brings the vehicles and the trip's record in line with a changed trip.
    ///
    /// - Parameters:
    ///   - scene: The changed trip, and the rest as it is stored.
    ///   - before: The trip as it was; `nil` for a new one.
    ///   - now: The time of the call.
    /// - Returns: The scene to be stored.
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT` for an order in `vehicle_waypoints` that does not hold, and for
    ///   more stops than a vehicle has.
    static func apply(
        to scene: TripScene, from before: Trip?, at now: Google_Protobuf_Timestamp
    ) throws(EngineError) -> TripScene {
        var scene = scene
        let plans = scene.vehicles.mapValues(\.waypoints)
        let ordered = scene.trip.vehicleWaypoints
        scene.trip.vehicleWaypoints = []
        self.record(&scene, from: before, at: now)
        if let before, before.isUnderway, !scene.trip.isUnderway || before.vehicleID != scene.trip.vehicleID {
            self.leave(before.vehicleID, &scene, at: now)
        }
        if scene.trip.isUnderway {
            try self.join(scene.trip.vehicleID, &scene, ordered: ordered, at: now)
            if let before, before.vehicleID != scene.trip.vehicleID { self.renewSegment(&scene, from: before, at: now) }
        }
        self.renewVersions(&scene, plans: plans, at: now)
        return scene
    }

    /// Lets a trip that was another vehicle's show a newer segment than that vehicle's, whose version its readers know.
    private static func renewSegment(_ scene: inout TripScene, from before: Trip, at now: Google_Protobuf_Timestamp) {
        guard before.hasRemainingWaypointsVersion, var joined = scene.vehicles[scene.trip.vehicleID],
            joined.hasCurrentRouteSegmentVersion
        else { return }
        joined.currentRouteSegmentVersion = .version(after: joined.currentRouteSegmentVersion, at: now)
        if let left = scene.vehicles[before.vehicleID]?.currentRouteSegmentVersion,
            !(left < joined.currentRouteSegmentVersion)
        {
            joined.currentRouteSegmentVersion = .version(after: left, at: now)
        }
        scene.vehicles[scene.trip.vehicleID] = joined
    }

    private static func leave(_ vehicle: String, _ scene: inout TripScene, at now: Google_Protobuf_Timestamp) {
        guard var left = scene.vehicles[vehicle] else { return }
        left.currentTrips.removeAll { $0 == scene.id.value }
        Itinerary.replace(left.waypoints.filter { $0.tripID != scene.id.value }, in: &left, at: now)
        if scene.trip.tripStatus == .canceled, left.waypoints.isEmpty {
            // Unlike the figures of a way that was gone to its end, these lead nowhere; recordings have both so.
            left.clearEtaToFirstWaypoint()
            left.clearRemainingDistanceMeters()
        }
        scene.vehicles[vehicle] = left
    }

    private static func join(
        _ vehicle: String, _ scene: inout TripScene, ordered: [TripWaypoint], at now: Google_Protobuf_Timestamp
    ) throws(EngineError) {
        guard var joined = scene.vehicles[vehicle] else { return }
        let isNew = !joined.currentTrips.contains(scene.id.value)
        if isNew { joined.currentTrips.append(scene.id.value) }
        var types = scene.others.mapValues(\.tripType)
        types[scene.id.value] = scene.trip.tripType
        var plan = Itinerary.placing(
            scene.trip.stops(id: scene.id.value), of: scene.id.value, aboard: scene.trip.tripStatus.isAfterPickup,
            in: joined.waypoints, tripTypes: types)
        // A longer plan may be from before there was a limit, and can get shorter.
        guard plan.count <= max(Self.maximumStops, joined.waypoints.count) else {
            throw .invalidArgument(
                "The trip's vehicle would have \(plan.count) stops ahead, over all its trips; it has "
                    + "\(Self.maximumStops) at most. End others of its trips first, or choose another vehicle.",
                field: isNew ? "vehicle_id" : nil
            )
        }
        if !ordered.isEmpty {
            plan = try Itinerary.order(plan, as: ordered, tripTypes: types, field: "vehicle_waypoints")
        }
        Itinerary.replace(plan, in: &joined, at: now)
        scene.vehicles[vehicle] = joined
    }

    /// Writes down when and where the trip was picked up and dropped off.
    private static func record(_ scene: inout TripScene, from before: Trip?, at now: Google_Protobuf_Timestamp) {
        let status = scene.trip.tripStatus
        let previous = before?.tripStatus ?? .new
        guard status != previous else { return }
        let location = scene.vehicles[scene.trip.vehicleID]?.lastLocation
        let stop = location?.stop
        if status.isAfterPickup, !previous.isAfterPickup {
            scene.trip.pickupTime = now
            if !scene.trip.hasActualPickupPoint, let stop { scene.trip.actualPickupPoint = stop }
        } else if previous.isAfterPickup, !status.isAfterPickup, !status.isTerminal {
            // The pickup lies ahead again, so its time is an estimate again, and its place unknown.
            scene.trip.clearPickupTime()
            if let before, before.hasActualPickupPoint, scene.trip.actualPickupPoint == before.actualPickupPoint {
                scene.trip.clearActualPickupPoint()
            }
        }
        if status == .complete {
            scene.trip.dropoffTime = now
            if !scene.trip.hasActualDropoffPoint, let stop { scene.trip.actualDropoffPoint = stop }
        }
        if status.isTerminal, let bare = location?.bare { scene.trip.lastLocation = bare }
    }

    /// A trip's path has a version of its own, which changes only with the path.
    private static func renewVersions(
        _ scene: inout TripScene, plans: [String: [TripWaypoint]], at now: Google_Protobuf_Timestamp
    ) {
        func path(_ id: String, _ plan: [TripWaypoint]?) -> [TripWaypoint] { Itinerary.path(of: id, in: plan ?? []) }
        for (vehicle, former) in plans {
            let plan = scene.vehicles[vehicle]?.waypoints ?? []
            for id in Itinerary.trips(withOtherPathsIn: plan, than: former) {
                guard let other = scene.others[id] else { continue }
                scene.others[id]?.remainingWaypointsVersion = .version(after: other.remainingWaypointsVersion, at: now)
            }
        }
        let own = scene.id.value
        let old = plans.values.map { path(own, $0) }.first { !$0.isEmpty } ?? []
        let new = scene.trip.isUnderway ? path(own, scene.vehicles[scene.trip.vehicleID]?.waypoints) : []
        if old != new {
            scene.trip.remainingWaypointsVersion = .version(after: scene.trip.remainingWaypointsVersion, at: now)
        }
    }
}

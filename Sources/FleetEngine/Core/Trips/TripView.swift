// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf

/// A trip as responses show it: what was stored, and what follows from its vehicle at the time of reading.
enum TripView {
    /// The trip with everything that its vehicle tells.
    ///
    /// - Parameters:
    ///   - trip: The trip as it is stored.
    ///   - id: The trip's id.
    ///   - vehicle: The vehicle that the trip is assigned to.
    ///   - context: The time of reading.
    /// - Returns: The trip as the response to a change shows it, without `vehicle_waypoints`.
    static func show(_ trip: Trip, id: String, vehicle: Vehicle?, context: CallContext) -> Trip {
        var shown = trip
        shown.view = .sdk
        shown.hideInputOnly()
        guard let vehicle, trip.isUnderway else { return shown }
        let path = Itinerary.path(of: id, in: VehicleView.timed(vehicle, context: context))
        shown.remainingWaypoints = path
        for waypoint in path where waypoint.tripID == id && waypoint.hasEta {
            switch waypoint.waypointType {
            case .pickupWaypointType: shown.pickupTime = waypoint.eta
            case .dropOffWaypointType: shown.dropoffTime = waypoint.eta
            default: break
            }
        }
        if let first = path.first, first.hasEta {
            let now = Google_Protobuf_Timestamp(stamping: context.now)
            shown.etaToFirstWaypoint = first.eta
            shown.remainingTimeToFirstWaypoint = Google_Protobuf_Duration(max(.zero, now.duration(to: first.eta)))
        }
        if let first = path.first, first.hasDistanceMeters { shown.remainingDistanceMeters = first.distanceMeters }
        if vehicle.lastLocation.place != nil { shown.lastLocation = LocationRules.shared(vehicle.lastLocation) }
        if vehicle.hasCurrentRouteSegmentVersion {
            shown.currentRouteSegmentVersion = vehicle.currentRouteSegmentVersion
        }
        guard let end = Itinerary.segmentEnd(of: vehicle, for: id, path: path) else {
            // Who has the segment is to forget it, and who has not is to get it once it is shown.
            if shown.hasCurrentRouteSegmentVersion {
                shown.currentRouteSegmentVersion = shown.currentRouteSegmentVersion.advanced(by: .nanoseconds(-1))
            }
            return shown
        }
        shown.currentRouteSegment = vehicle.currentRouteSegment
        shown.currentRouteSegmentEndPoint = end.untimed
        shown.lastLocationSnappable = shown.lastLocation.hasLocation && !vehicle.currentRouteSegment.isEmpty
        return shown
    }

    /// What a reader asks for and has already, as far as it makes a difference.
    struct Viewer: Hashable, Sendable {
        let view: Maps_Fleetengine_V1_TripView
        let routeFormat: Maps_Fleetengine_V1_PolylineFormatType
        let segmentVersion: Google_Protobuf_Timestamp?

        init(_ request: Maps_Fleetengine_V1_GetTripRequest) {
            self.view = request.view
            self.routeFormat = request.routeFormatType
            self.segmentVersion = request.hasCurrentRouteSegmentVersion ? request.currentRouteSegmentVersion : nil
        }
    }

    /// All that an answer depends on but the time, where estimates follow no roads.
    struct Question: Sendable {
        let trip: Trip
        let vehicle: Vehicle?
        let viewer: Viewer
    }

    /// The trip in the view that a reader asks for, without the parts that it has already.
    static func answer(_ question: Question, id: String, context: CallContext) -> ShownTrip {
        let (vehicle, viewer) = (question.vehicle, question.viewer)
        var shown = Self.show(question.trip, id: id, vehicle: vehicle, context: context)
        let opaque = viewer.view != .journeySharingV1S && viewer.routeFormat == .encodedPolylineType
        if viewer.view == .journeySharingV1S { shown.view = .journeySharingV1S }
        if viewer.routeFormat != .encodedPolylineType, let first = shown.remainingWaypoints.first,
            shown.lastLocation.hasLocation
        {
            let path = context.routes.estimate(
                from: shown.lastLocation.location, to: first.location.point,
                by: vehicle?.vehicleType.category ?? .unknown
            ).path
            shown.route = PathLimit.thinned(path, of: path.count)
        }
        let isKnown =
            shown.hasCurrentRouteSegmentVersion
            && viewer.segmentVersion.map { !($0 < shown.currentRouteSegmentVersion) } == true
        // Without a segment, the version does not tell where the way leads.
        if isKnown, !shown.currentRouteSegment.isEmpty { shown.route = [] }
        if isKnown || !opaque { shown.currentRouteSegment = "" }
        return ShownTrip(shown)
    }

    /// The trip as a search over all vehicles shows it: without its vehicle's way.
    static func summary(_ trip: Trip, id: String, vehicle: Vehicle?, context: CallContext) -> Trip {
        var shown = Self.show(trip, id: id, vehicle: vehicle, context: context)
        shown.currentRouteSegment = ""
        shown.clearCurrentRouteSegmentVersion()
        shown.clearCurrentRouteSegmentEndPoint()
        shown.remainingWaypoints = []
        shown.clearRemainingWaypointsVersion()
        shown.clearRemainingDistanceMeters()
        shown.clearEtaToFirstWaypoint()
        shown.clearRemainingTimeToFirstWaypoint()
        return shown
    }
}

extension Trip {
    /// Clears what a caller may only tell, and not read; actual pickup and drop-off points were recorded in responses.
    fileprivate mutating func hideInputOnly() {
        self.clearActualPickupArrivalPoint()
        self.actualIntermediateDestinationArrivalPoints = []
        self.actualIntermediateDestinations = []
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A trip, as far as this module knows it.
public typealias GMTSTrip = TripSnapshot
/// How far a trip is.
public typealias GMTSTripStatus = TripStatus
/// A point on Earth.
public typealias GMTSLatLng = GeoPoint
/// Where a vehicle was seen.
public typealias GMTSVehicleLocation = VehiclePosition
/// A stop that is left.
public typealias GMTSTripWaypoint = TripWaypoint
/// A place where a trip begins, ends or calls.
public typealias GMTSTerminalLocation = GeoPoint
/// How fast the traffic flows along a way.
public typealias GMTSTrafficData = RouteTraffic

/// Whether a trip is being watched, in the shape of Google's Consumer SDK.
public enum GMTCTripModelState: Int, Sendable {
    /// Nobody asks the engine: there is no subscriber, or the trip is over.
    case inactive
    /// The engine is asked again and again.
    case active
}

/// Hears what becomes different about a trip, on the main actor, in the shape of Google's Consumer SDK.
///
/// Every callback may be left out. Those of Objective-C are optional; here they do nothing. After an answer that brings
/// something new, the callbacks of what is different come first, and the one of the whole trip last. Who subscribes to a
/// trip that is watched already hears what is known of it in the same way.
@preconcurrency @MainActor public protocol GMTCTripModelSubscriber: NSObjectProtocol {
    /// Watching began or ended.
    func tripModel(_ tripModel: GMTCTripModel, didUpdate sessionState: GMTCTripModelState)
    /// Something about the trip is different, and what.
    func tripModel(
        _ tripModel: GMTCTripModel, didUpdate trip: GMTSTrip?, updatedPropertyFields: GMTSTripPropertyFields)
    /// The trip went on.
    func tripModel(_ tripModel: GMTCTripModel, didUpdate tripStatus: GMTSTripStatus)
    /// The vehicle was seen somewhere, or is no longer shown.
    func tripModel(_ tripModel: GMTCTripModel, didUpdate vehicleLocation: GMTSVehicleLocation?)
    /// The trip begins elsewhere.
    func tripModel(_ tripModel: GMTCTripModel, didUpdatePickup pickupLocation: GMTSTerminalLocation?)
    /// The trip ends elsewhere.
    func tripModel(_ tripModel: GMTCTripModel, didUpdateDropoff dropoffLocation: GMTSTerminalLocation?)
    /// The trip calls at other places on its way.
    func tripModel(
        _ tripModel: GMTCTripModel, didUpdateIntermediateDestinations destinations: [GMTSTerminalLocation]?)
    /// The pick-up is expected at another time, or was at another, in Unix seconds; 0 is unknown.
    func tripModel(_ tripModel: GMTCTripModel, didUpdatePickupETA pickupETA: TimeInterval)
    /// The drop-off is expected at another time, or was at another, in Unix seconds; 0 is unknown.
    func tripModel(_ tripModel: GMTCTripModel, didUpdateDropoffETA dropoffETA: TimeInterval)
    /// The arrival at the next stop is expected at another time, in Unix seconds; 0 is unknown.
    func tripModel(_ tripModel: GMTCTripModel, didUpdateETAToNextWaypoint nextWaypointETA: TimeInterval)
    /// The way to the next stop is another.
    func tripModel(_ tripModel: GMTCTripModel, didUpdateActiveRoute activeRoute: [GMTSLatLng]?)
    /// The next stop is so many metres away.
    func tripModel(
        _ tripModel: GMTCTripModel, didUpdateActiveRouteRemainingDistance activeRouteRemainingDistance: Int32)
    /// Traffic on the way to the next stop flows differently.
    func tripModel(_ tripModel: GMTCTripModel, didUpdateActiveRouteTraffic activeRouteTraffic: GMTSTrafficData?)
    /// The way to the end of the trip is another.
    func tripModel(_ tripModel: GMTCTripModel, didUpdateRemainingRoute remainingRoute: [GMTSLatLng]?)
    /// The next stop is so many metres away, which is all that the engine tells of the distance.
    func tripModel(_ tripModel: GMTCTripModel, didUpdateRemainingRouteDistance remainingRouteDistance: Int32)
    /// Other stops are left.
    func tripModel(_ tripModel: GMTCTripModel, didUpdateRemaining remainingWaypoints: [GMTSTripWaypoint]?)
    /// An answer is missing: an `NSError` of the domain `io.grpc` with gRPC's code; the model goes on asking.
    func tripModel(_ tripModel: GMTCTripModel, didFailUpdateTripWithError error: (any Error)?)
}

extension GMTCTripModelSubscriber {
    /// Does nothing.
    public func tripModel(_ tripModel: GMTCTripModel, didUpdate sessionState: GMTCTripModelState) {}
    /// Does nothing.
    public func tripModel(
        _ tripModel: GMTCTripModel, didUpdate trip: GMTSTrip?, updatedPropertyFields: GMTSTripPropertyFields
    ) {}
    /// Does nothing.
    public func tripModel(_ tripModel: GMTCTripModel, didUpdate tripStatus: GMTSTripStatus) {}
    /// Does nothing.
    public func tripModel(_ tripModel: GMTCTripModel, didUpdate vehicleLocation: GMTSVehicleLocation?) {}
    /// Does nothing.
    public func tripModel(_ tripModel: GMTCTripModel, didUpdatePickup pickupLocation: GMTSTerminalLocation?) {}
    /// Does nothing.
    public func tripModel(_ tripModel: GMTCTripModel, didUpdateDropoff dropoffLocation: GMTSTerminalLocation?) {}
    /// Does nothing.
    public func tripModel(
        _ tripModel: GMTCTripModel, didUpdateIntermediateDestinations destinations: [GMTSTerminalLocation]?
    ) {}
    /// Does nothing.
    public func tripModel(_ tripModel: GMTCTripModel, didUpdatePickupETA pickupETA: TimeInterval) {}
    /// Does nothing.
    public func tripModel(_ tripModel: GMTCTripModel, didUpdateDropoffETA dropoffETA: TimeInterval) {}
    /// Does nothing.
    public func tripModel(_ tripModel: GMTCTripModel, didUpdateETAToNextWaypoint nextWaypointETA: TimeInterval) {}
    /// Does nothing.
    public func tripModel(_ tripModel: GMTCTripModel, didUpdateActiveRoute activeRoute: [GMTSLatLng]?) {}
    /// Does nothing.
    public func tripModel(
        _ tripModel: GMTCTripModel, didUpdateActiveRouteRemainingDistance activeRouteRemainingDistance: Int32
    ) {}
    /// Does nothing.
    public func tripModel(_ tripModel: GMTCTripModel, didUpdateActiveRouteTraffic activeRouteTraffic: GMTSTrafficData?)
    {}
    /// Does nothing.
    public func tripModel(_ tripModel: GMTCTripModel, didUpdateRemainingRoute remainingRoute: [GMTSLatLng]?) {}
    /// Does nothing.
    public func tripModel(_ tripModel: GMTCTripModel, didUpdateRemainingRouteDistance remainingRouteDistance: Int32) {}
    /// Does nothing.
    public func tripModel(_ tripModel: GMTCTripModel, didUpdateRemaining remainingWaypoints: [GMTSTripWaypoint]?) {}
    /// Does nothing.
    public func tripModel(_ tripModel: GMTCTripModel, didFailUpdateTripWithError error: (any Error)?) {}
}

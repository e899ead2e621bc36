// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf

/// What the locations of vehicles and of delivery vehicles have in common, which is everything but the name.
protocol ReportedLocation: Message {
    associatedtype Sensor: LocationSensor

    var location: LatLng { get set }
    var hasLocation: Bool { get }
    mutating func clearLocation()
    var rawLocation: LatLng { get set }
    var hasRawLocation: Bool { get }
    mutating func clearRawLocation()
    var flpLocation: LatLng { get set }
    var hasFlpLocation: Bool { get }
    mutating func clearFlpLocation()
    var supplementalLocation: LatLng { get set }
    var hasSupplementalLocation: Bool { get }
    mutating func clearSupplementalLocation()

    var updateTime: Google_Protobuf_Timestamp { get set }
    var hasUpdateTime: Bool { get }
    mutating func clearUpdateTime()
    var serverTime: Google_Protobuf_Timestamp { get set }
    var hasServerTime: Bool { get }
    mutating func clearServerTime()
    var rawLocationTime: Google_Protobuf_Timestamp { get set }
    var hasRawLocationTime: Bool { get }
    mutating func clearRawLocationTime()
    var flpUpdateTime: Google_Protobuf_Timestamp { get set }
    var hasFlpUpdateTime: Bool { get }
    mutating func clearFlpUpdateTime()
    var supplementalLocationTime: Google_Protobuf_Timestamp { get set }
    var hasSupplementalLocationTime: Bool { get }
    mutating func clearSupplementalLocationTime()

    var locationSensor: Sensor { get set }
    var rawLocationSensor: Sensor { get set }
    var supplementalLocationSensor: Sensor { get set }

    var heading: Google_Protobuf_Int32Value { get set }
    var flpHeadingDegrees: Google_Protobuf_Int32Value { get set }
    mutating func clearFlpHeadingDegrees()
    var latlngAccuracy: Google_Protobuf_DoubleValue { get set }
    var hasLatlngAccuracy: Bool { get }
    mutating func clearLatlngAccuracy()
    var headingAccuracy: Google_Protobuf_DoubleValue { get set }
    var hasHeadingAccuracy: Bool { get }
    mutating func clearHeadingAccuracy()
    var altitudeAccuracy: Google_Protobuf_DoubleValue { get set }
    var hasAltitudeAccuracy: Bool { get }
    mutating func clearAltitudeAccuracy()
    var altitude: Google_Protobuf_DoubleValue { get }
    var speedAccuracy: Google_Protobuf_DoubleValue { get }
    var speed: Google_Protobuf_DoubleValue { get set }
    var hasSpeed: Bool { get }
    mutating func clearSpeed()
    var rawLocationAccuracy: Google_Protobuf_DoubleValue { get }
    var hasRawLocationAccuracy: Bool { get }
    mutating func clearRawLocationAccuracy()
    var flpLatlngAccuracyMeters: Google_Protobuf_DoubleValue { get }
    var hasFlpLatlngAccuracyMeters: Bool { get }
    mutating func clearFlpLatlngAccuracyMeters()
    var supplementalLocationAccuracy: Google_Protobuf_DoubleValue { get set }
    var hasSupplementalLocationAccuracy: Bool { get }
    mutating func clearSupplementalLocationAccuracy()

    var horizontalAccuracy: Google_Protobuf_DoubleValue { get set }
    var hasHorizontalAccuracy: Bool { get }
    mutating func clearHorizontalAccuracy()
    var bearingAccuracy: Google_Protobuf_DoubleValue { get set }
    var hasBearingAccuracy: Bool { get }
    mutating func clearBearingAccuracy()
    var verticalAccuracy: Google_Protobuf_DoubleValue { get set }
    var hasVerticalAccuracy: Bool { get }
    mutating func clearVerticalAccuracy()
    var speedKmph: Google_Protobuf_Int32Value { get set }
    var hasSpeedKmph: Bool { get }
    mutating func clearSpeedKmph()
    var roadSnapped: Bool { get set }

    mutating func clearIsGpsSensorEnabled()
    mutating func clearTimeSinceUpdate()
    var hasNumStaleUpdates: Bool { get }
    mutating func clearNumStaleUpdates()
    mutating func clearIsRoadSnapped()
}

/// Where a position comes from.
protocol LocationSensor: Hashable {
    static var unknownSensor: Self { get }
    static var gps: Self { get }
    static var customerSuppliedLocation: Self { get }
    static var fleetEngineLocation: Self { get }
    static var fusedLocationProvider: Self { get }
}

extension Maps_Fleetengine_V1_LocationSensor: LocationSensor {}
extension Maps_Fleetengine_Delivery_V1_DeliveryVehicleLocationSensor: LocationSensor {}
extension VehicleLocation: ReportedLocation {}
extension DeliveryVehicleLocation: ReportedLocation {}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf

/// What becomes of a reported location.
enum LocationRules {
    /// Checks a reported location and brings it into the form that is stored and returned.
    ///
    /// - Parameters:
    ///   - report: The location as the device or a server sent it.
    ///   - stored: The location that the vehicle has, if any.
    ///   - now: The time to stamp as `server_time`.
    /// - Returns: The location to keep: the stored one where the report is older.
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    static func accept<Location: ReportedLocation>(
        _ report: Location, over stored: Location?, at now: Google_Protobuf_Timestamp
    ) throws(EngineError) -> Location {
        try self.check(report)
        var location = report
        location.renameDeprecated()
        location.dropInputOnly()
        location.completeSources()
        location.serverTime = now
        if let stored, stored.hasUpdateTime, !stored.isAhead, location.hasUpdateTime,
            location.updateTime < stored.updateTime
        {
            return stored
        }
        return location
    }

    /// Checks the ranges of a location.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    static func check(_ location: some ReportedLocation) throws(EngineError) {
        if location.hasLocation { try location.location.check("location") }
        if location.hasRawLocation { try location.rawLocation.check("raw_location") }
        if location.hasFlpLocation { try location.flpLocation.check("flp_location") }
        if location.hasSupplementalLocation { try location.supplementalLocation.check("supplemental_location") }
        let times = [
            ("update_time", location.updateTime), ("raw_location_time", location.rawLocationTime),
            ("flp_update_time", location.flpUpdateTime),
            ("supplemental_location_time", location.supplementalLocationTime),
        ]
        for (field, time) in times { try time.check(field) }
        let headings = [
            ("heading", location.hasHeading ? location.heading.value : 0),
            ("flp_heading_degrees", location.hasFlpHeadingDegrees ? location.flpHeadingDegrees.value : 0),
        ]
        for (field, heading) in headings where !(0..<360).contains(heading) {
            throw .invalidArgument("\(field) is \(heading); it goes from 0 to 359 degrees.", field: field)
        }
        let readings = [
            ("speed", location.speed), ("speed_accuracy", location.speedAccuracy), ("altitude", location.altitude),
            ("latlng_accuracy", location.latlngAccuracy),
            ("heading_accuracy", location.headingAccuracy), ("altitude_accuracy", location.altitudeAccuracy),
            ("raw_location_accuracy", location.rawLocationAccuracy),
            ("flp_latlng_accuracy_meters", location.flpLatlngAccuracyMeters),
            ("supplemental_location_accuracy", location.supplementalLocationAccuracy),
            ("horizontal_accuracy", location.horizontalAccuracy), ("bearing_accuracy", location.bearingAccuracy),
            ("vertical_accuracy", location.verticalAccuracy),
        ]
        for (field, reading) in readings where !reading.value.isFinite {
            throw .invalidArgument("\(field) is \(reading.value), which is no measurement; leave it out.", field: field)
        }
        let sensors = [
            ("location_sensor", location.locationSensor), ("raw_location_sensor", location.rawLocationSensor),
            ("supplemental_location_sensor", location.supplementalLocationSensor),
        ]
        for (field, sensor) in sensors where sensor == .fleetEngineLocation {
            throw .invalidArgument(
                "\(field) is FLEET_ENGINE_LOCATION, which only the service reports; name the real source.",
                field: field
            )
        }
    }

    /// A vehicle's location as passengers and recipients see it: without the readings behind it.
    static func shared<Location: ReportedLocation>(_ location: Location) -> Location {
        var shared = location
        shared.clearRawLocation()
        shared.clearRawLocationTime()
        shared.rawLocationSensor = .unknownSensor
        shared.clearRawLocationAccuracy()
        shared.clearFlpLocation()
        shared.clearFlpUpdateTime()
        shared.clearFlpLatlngAccuracyMeters()
        shared.clearFlpHeadingDegrees()
        shared.clearSupplemental()
        return shared
    }
}

extension ReportedLocation {
    /// Where the vehicle is, as well as that is known.
    var place: LatLng? {
        self.hasLocation ? self.location : self.hasRawLocation ? self.rawLocation : nil
    }

    /// When the position was taken, as well as that is known.
    var fixTime: Google_Protobuf_Timestamp {
        self.hasUpdateTime ? self.updateTime : self.hasRawLocationTime ? self.rawLocationTime : self.serverTime
    }

    /// Whether the device's clock was further ahead, as the location came in, than clocks usually are.
    fileprivate var isAhead: Bool { self.serverTime.advanced(by: .seconds(300)) < self.updateTime }

    /// Moves values from deprecated fields to those that replaced them.
    fileprivate mutating func renameDeprecated() {
        if self.hasHorizontalAccuracy, !self.hasLatlngAccuracy { self.latlngAccuracy = self.horizontalAccuracy }
        if self.hasBearingAccuracy, !self.hasHeadingAccuracy { self.headingAccuracy = self.bearingAccuracy }
        if self.hasVerticalAccuracy, !self.hasAltitudeAccuracy { self.altitudeAccuracy = self.verticalAccuracy }
        if self.hasSpeedKmph, !self.hasSpeed {
            self.speed = Google_Protobuf_DoubleValue(Double(self.speedKmph.value) / 3.6)
        }
        self.clearHorizontalAccuracy()
        self.clearBearingAccuracy()
        self.clearVerticalAccuracy()
        self.clearSpeedKmph()
        self.roadSnapped = false
    }

    fileprivate mutating func dropInputOnly() {
        self.clearIsGpsSensorEnabled()
        self.clearTimeSinceUpdate()
        self.clearNumStaleUpdates()
        // Not marked as input only, yet absent from every recorded response.
        self.clearIsRoadSnapped()
    }

    /// Names the sources that have a default, and publishes a supplemental position where there is no other.
    fileprivate mutating func completeSources() {
        if self.hasRawLocation, self.rawLocationSensor == .unknownSensor { self.rawLocationSensor = .gps }
        guard self.hasSupplementalLocation else { return self.clearSupplemental() }
        if self.supplementalLocationSensor == .unknownSensor {
            self.supplementalLocationSensor = .customerSuppliedLocation
        }
        guard !self.hasLocation else { return }
        self.location = self.supplementalLocation
        self.locationSensor = self.supplementalLocationSensor
        if self.hasSupplementalLocationAccuracy { self.latlngAccuracy = self.supplementalLocationAccuracy }
        if self.hasSupplementalLocationTime, !self.hasUpdateTime { self.updateTime = self.supplementalLocationTime }
    }

    fileprivate mutating func clearSupplemental() {
        self.clearSupplementalLocation()
        self.clearSupplementalLocationTime()
        self.supplementalLocationSensor = .unknownSensor
        self.clearSupplementalLocationAccuracy()
    }
}

extension FieldSelection {
    /// Lets a supplemental position that the update brings take the place of the device's reading, which is older.
    func preferSupplemental<Location: ReportedLocation>(in location: inout Location) {
        guard location.hasSupplementalLocation, !self.covers("last_location.location"),
            self.covers("last_location.supplemental_location")
        else { return }
        location.clearLocation()
        if !self.covers("last_location.update_time") { location.clearUpdateTime() }
        if !self.covers("last_location.latlng_accuracy") { location.clearLatlngAccuracy() }
    }
}

extension VehicleLocation {
    /// The position and its time as a stop.
    var stop: StopLocation {
        var stop = StopLocation()
        stop.point = self.location
        stop.timestamp = self.fixTime
        return stop
    }

    /// The position alone.
    var bare: VehicleLocation {
        var bare = VehicleLocation()
        if self.hasLocation { bare.location = self.location }
        return bare
    }
}

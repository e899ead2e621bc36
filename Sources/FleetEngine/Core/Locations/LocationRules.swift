// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf

/// What becomes of a reported location.
enum LocationRules {
    /// How far off a device's clock may be and is still believed.
    fileprivate static let clockTolerance = Duration.seconds(300)

    /// Checks a reported location and brings it into the form that is stored and returned.
    ///
    /// - Parameters:
    ///   - report: The location as the device or a server sent it.
    ///   - stored: The location that the vehicle has, if any.
    ///   - isFix: Whether the report tells a position; where it does not, the position keeps its `server_time`.
    ///   - now: The time to stamp as `server_time`, where there is a position.
    /// - Returns: The location to keep; `nil` where the report is older than the stored one, which stays.
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    static func accept<Location: ReportedLocation>(
        _ report: Location, over stored: Location?, isFix: Bool = true, at now: Google_Protobuf_Timestamp
    ) throws(EngineError) -> Location? {
        try self.check(report, at: "last_location")
        var location = report
        location.renameDeprecated()
        location.dropInputOnly()
        location.completeSources()
        location.clearServerTime()
        if location.place != nil {
            if isFix {
                location.serverTime = now
            } else if let stored, stored.hasServerTime {
                location.serverTime = stored.serverTime
            }
        }
        if let stored, location.hasUpdateTime, stored.isNewer(than: location.updateTime, at: now) { return nil }
        return location
    }

    /// Checks the ranges of a location.
    ///
    /// - Parameters:
    ///   - location: The location.
    ///   - path: Which field of the vehicle it is, or which element of one.
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    static func check(_ location: some ReportedLocation, at path: @autoclosure () -> String) throws(EngineError) {
        do throws(EngineError) {
            try self.checkRanges(of: location)
        } catch {
            throw error.within(path())
        }
    }

    private static func checkRanges<Location: ReportedLocation>(of location: Location) throws(EngineError) {
        try location.location.check("location")
        try location.rawLocation.check("raw_location")
        try location.flpLocation.check("flp_location")
        try location.supplementalLocation.check("supplemental_location")
        try location.updateTime.check("update_time")
        try location.rawLocationTime.check("raw_location_time")
        try location.flpUpdateTime.check("flp_update_time")
        try location.supplementalLocationTime.check("supplemental_location_time")
        func checkHeading(_ heading: Int32, _ field: String) throws(EngineError) {
            guard !(0..<360).contains(heading) else { return }
            throw .invalidArgument("\(field) is \(heading); it goes from 0 to 359 degrees.", field: field)
        }
        try checkHeading(location.heading.value, "heading")
        try checkHeading(location.flpHeadingDegrees.value, "flp_heading_degrees")
        func checkReading(_ reading: Double, _ field: String) throws(EngineError) {
            guard !reading.isFinite else { return }
            throw .invalidArgument("\(field) is \(reading), which is no measurement; leave it out.", field: field)
        }
        try checkReading(location.speed.value, "speed")
        try checkReading(location.speedAccuracy.value, "speed_accuracy")
        try checkReading(location.altitude.value, "altitude")
        try checkReading(location.latlngAccuracy.value, "latlng_accuracy")
        try checkReading(location.headingAccuracy.value, "heading_accuracy")
        try checkReading(location.altitudeAccuracy.value, "altitude_accuracy")
        try checkReading(location.rawLocationAccuracy.value, "raw_location_accuracy")
        try checkReading(location.flpLatlngAccuracyMeters.value, "flp_latlng_accuracy_meters")
        try checkReading(location.supplementalLocationAccuracy.value, "supplemental_location_accuracy")
        try checkReading(location.horizontalAccuracy.value, "horizontal_accuracy")
        try checkReading(location.bearingAccuracy.value, "bearing_accuracy")
        try checkReading(location.verticalAccuracy.value, "vertical_accuracy")
        func checkSensor(_ sensor: Location.Sensor, _ field: String) throws(EngineError) {
            guard sensor == .fleetEngineLocation else { return }
            throw .invalidArgument(
                "\(field) is FLEET_ENGINE_LOCATION, which only the service reports; name the real source.",
                field: field
            )
        }
        try checkSensor(location.locationSensor, "location_sensor")
        try checkSensor(location.rawLocationSensor, "raw_location_sensor")
        try checkSensor(location.supplementalLocationSensor, "supplemental_location_sensor")
    }

    /// A vehicle's location as passengers and recipients see it: the best known position, without the readings behind it.
    static func shared<Location: ReportedLocation>(_ location: Location) -> Location {
        var shared = location
        shared.publishReading()
        shared.clearRawLocation()
        shared.clearRawLocationTime()
        shared.rawLocationSensor = .unknownSensor
        shared.clearRawLocationAccuracy()
        shared.clearFlpLocation()
        shared.clearFlpUpdateTime()
        shared.clearFlpLatlngAccuracyMeters()
        shared.clearFlpHeadingDegrees()
        shared.clearSupplemental()
        // A stored location may be from before requests lost theirs.
        shared.unknownFields = UnknownStorage()
        return shared
    }
}

extension ReportedLocation {
    /// Where the vehicle is, as well as that is known.
    var place: LatLng? {
        if self.hasLocation { return self.location }
        if self.hasRawLocation { return self.rawLocation }
        return self.hasFlpLocation ? self.flpLocation : nil
    }

    /// When the ``place`` was taken, as well as that is known.
    var fixTime: Google_Protobuf_Timestamp {
        if self.hasUpdateTime { return self.updateTime }
        // A published location is made from the raw reading; the time of the fused one says nothing of either.
        if self.hasLocation || self.hasRawLocation {
            return self.hasRawLocationTime ? self.rawLocationTime : self.serverTime
        }
        return self.hasFlpUpdateTime ? self.flpUpdateTime : self.serverTime
    }

    /// Whether a position that was taken at this time is older; it is not where this location has no position, nor where
    /// it came in while the engine's clock was ahead, as the vehicle would stay there until that time comes.
    ///
    /// It counts for a few minutes only: after that, a device whose clock was set back would not be located until its
    /// time has caught up. Where no device told when this one was taken, its `server_time` counts, less what a clock may
    /// be off.
    fileprivate func isNewer(than time: Google_Protobuf_Timestamp, at now: Google_Protobuf_Timestamp) -> Bool {
        let tolerance = LocationRules.clockTolerance
        let age = self.serverTime.duration(to: now)
        guard self.place != nil, (.zero - tolerance...tolerance).contains(age) else { return false }
        guard self.hasUpdateTime else { return time.advanced(by: tolerance) < self.serverTime }
        return !self.isAhead && time < self.updateTime
    }

    /// Whether the device's clock was further ahead, as the location came in, than is believed.
    private var isAhead: Bool { self.serverTime.advanced(by: LocationRules.clockTolerance) < self.updateTime }

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
        self.publish(
            self.supplementalLocation, from: self.supplementalLocationSensor,
            accuracy: self.hasSupplementalLocationAccuracy ? self.supplementalLocationAccuracy : nil,
            at: self.hasSupplementalLocationTime ? self.supplementalLocationTime : nil)
    }

    /// Publishes the raw reading, or else the fused one, where there is no other position.
    fileprivate mutating func publishReading() {
        guard !self.hasLocation else { return }
        if self.hasRawLocation {
            self.publish(
                self.rawLocation, from: self.rawLocationSensor,
                accuracy: self.hasRawLocationAccuracy ? self.rawLocationAccuracy : nil,
                at: self.hasRawLocationTime ? self.rawLocationTime : nil)
        } else if self.hasFlpLocation {
            self.publish(
                self.flpLocation, from: .fusedLocationProvider,
                accuracy: self.hasFlpLatlngAccuracyMeters ? self.flpLatlngAccuracyMeters : nil,
                at: self.hasFlpUpdateTime ? self.flpUpdateTime : nil)
        }
    }

    private mutating func publish(
        _ point: LatLng, from sensor: Sensor, accuracy: Google_Protobuf_DoubleValue?,
        at time: Google_Protobuf_Timestamp?
    ) {
        self.location = point
        self.locationSensor = sensor
        if let accuracy { self.latlngAccuracy = accuracy }
        if let time, !self.hasUpdateTime { self.updateTime = time }
    }

    fileprivate mutating func clearSupplemental() {
        self.clearSupplementalLocation()
        self.clearSupplementalLocationTime()
        self.supplementalLocationSensor = .unknownSensor
        self.clearSupplementalLocationAccuracy()
    }
}

extension FieldSelection {
    /// Whether the update tells where the vehicle is.
    var tellsPosition: Bool {
        self.namesWhole("last_location")
            || ["location", "raw_location", "flp_location", "supplemental_location"].contains {
                self.reaches("last_location.\($0)")
            }
    }

    /// Lets what the update brings take the place of what it makes void: a supplemental position that of the device's
    /// reading, which is older, and every value that of what belonged to the former one.
    func preferReported<Location: ReportedLocation>(in location: inout Location) {
        // A report that brings the whole location leaves nothing of the former one, and this is what drivers send.
        guard self.namesPart(of: "last_location") else { return }
        self.dropRenamed(in: &location)
        self.dropSources(in: &location)
        guard location.hasSupplementalLocation, !self.covers("last_location.location"),
            self.covers("last_location.supplemental_location")
        else { return }
        location.clearLocation()
        if !self.covers("last_location.update_time") { location.clearUpdateTime() }
        if !self.covers("last_location.latlng_accuracy") { location.clearLatlngAccuracy() }
    }

    /// Drops what is stored under a new name where the update names the deprecated field alone.
    private func dropRenamed<Location: ReportedLocation>(in location: inout Location) {
        func names(_ deprecated: String, not replacement: String) -> Bool {
            self.covers("last_location.\(deprecated)") && !self.covers("last_location.\(replacement)")
        }
        if names("horizontal_accuracy", not: "latlng_accuracy") { location.clearLatlngAccuracy() }
        if names("bearing_accuracy", not: "heading_accuracy") { location.clearHeadingAccuracy() }
        if names("vertical_accuracy", not: "altitude_accuracy") { location.clearAltitudeAccuracy() }
        if names("speed_kmph", not: "speed") { location.clearSpeed() }
    }

    /// Drops the sensor, accuracy and time of a position in whose place the update brings another without them.
    private func dropSources<Location: ReportedLocation>(in location: inout Location) {
        func lacks(_ part: String, of position: String) -> Bool {
            self.reaches("last_location.\(position)") && !self.covers("last_location.\(part)")
        }
        if lacks("location_sensor", of: "location") { location.locationSensor = .unknownSensor }
        if lacks("latlng_accuracy", of: "location") { location.clearLatlngAccuracy() }
        if lacks("update_time", of: "location") { location.clearUpdateTime() }
        if lacks("raw_location_sensor", of: "raw_location") { location.rawLocationSensor = .unknownSensor }
        if lacks("raw_location_accuracy", of: "raw_location") { location.clearRawLocationAccuracy() }
        if lacks("raw_location_time", of: "raw_location") { location.clearRawLocationTime() }
        if lacks("flp_latlng_accuracy_meters", of: "flp_location") { location.clearFlpLatlngAccuracyMeters() }
        if lacks("flp_update_time", of: "flp_location") { location.clearFlpUpdateTime() }
        if lacks("supplemental_location_sensor", of: "supplemental_location") {
            location.supplementalLocationSensor = .unknownSensor
        }
        if lacks("supplemental_location_accuracy", of: "supplemental_location") {
            location.clearSupplementalLocationAccuracy()
        }
        if lacks("supplemental_location_time", of: "supplemental_location") {
            location.clearSupplementalLocationTime()
        }
    }
}

extension VehicleLocation {
    /// The position and its time as a stop; `nil` where no position is known.
    var stop: StopLocation? {
        guard let place = self.place else { return nil }
        var stop = StopLocation()
        stop.point = place
        stop.timestamp = self.fixTime
        return stop
    }

    /// The position alone; `nil` where no position is known.
    var bare: VehicleLocation? {
        self.place.map { place in .with { $0.location = place } }
    }
}

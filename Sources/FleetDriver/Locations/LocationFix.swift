// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
public import Foundation

/// Where a vehicle was at one moment.
public struct LocationFix: Hashable, Sendable {
    /// Degrees north, -90 to 90.
    public let latitude: Double
    /// Degrees east, -180 to 180.
    public let longitude: Double
    /// The direction of travel in degrees clockwise from north, 0 up to but not 360, where known.
    public let heading: Double?
    /// Metres per second, where known.
    public let speed: Double?
    /// Metres above the ellipsoid, where known.
    public let altitude: Double?
    /// The radius of uncertainty in metres, where known.
    public let accuracy: Double?
    /// When the vehicle was there, by the device's clock.
    public let time: Date

    /// Checks a fix.
    ///
    /// A negative heading, speed or accuracy means unknown, and so does any value that is not a number. Location services
    /// of phones write headings and speeds like that. Where they give a negative accuracy, the place itself is not valid:
    /// drop it.
    ///
    /// - Parameters:
    ///   - latitude: Degrees north.
    ///   - longitude: Degrees east.
    ///   - heading: Degrees clockwise from north; 360 and more start again at 0.
    ///   - speed: Metres per second.
    ///   - altitude: Metres above the ellipsoid.
    ///   - accuracy: The radius of uncertainty in metres.
    ///   - time: When the vehicle was there, within the years 1 to 9999.
    /// - Throws: ``DriverError`` with ``DriverError/Code/invalidLocation``.
    public init(
        latitude: Double,
        longitude: Double,
        heading: Double? = nil,
        speed: Double? = nil,
        altitude: Double? = nil,
        accuracy: Double? = nil,
        time: Date
    ) throws(DriverError) {
        guard (-90...90).contains(latitude) else {
            throw DriverError(code: .invalidLocation, message: "The latitude \(latitude) is not within -90 to 90.")
        }
        guard (-180...180).contains(longitude) else {
            throw DriverError(code: .invalidLocation, message: "The longitude \(longitude) is not within -180 to 180.")
        }
        guard RFC3339.canWrite(time) else {
            throw DriverError(
                code: .invalidLocation,
                message: "The time of the location is not a number, or not within the years 1 to 9999.")
        }
        self.latitude = latitude
        self.longitude = longitude
        self.heading = Self.known(heading).map { $0.truncatingRemainder(dividingBy: 360) }
        self.speed = Self.known(speed)
        self.altitude = altitude.flatMap { $0.isFinite ? $0 : nil }
        self.accuracy = Self.known(accuracy)
        self.time = time
    }

    /// The same fix at another time, going at another speed.
    func replayed(at time: Date, speedFactor: Double) -> Self {
        Self(copying: self, time: time, speed: self.speed.map { $0 * speedFactor })
    }

    private init(copying fix: Self, time: Date, speed: Double?) {
        self.latitude = fix.latitude
        self.longitude = fix.longitude
        self.heading = fix.heading
        self.speed = Self.known(speed)
        self.altitude = fix.altitude
        self.accuracy = fix.accuracy
        self.time = time
    }

    private static func known(_ value: Double?) -> Double? {
        value.flatMap { $0.isFinite && $0 >= 0 ? $0 : nil }
    }
}

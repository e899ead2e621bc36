// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens

/// A place where a delivery vehicle has to stop, and the tasks to be done there.
public struct VehicleStop: Hashable, Sendable {
    /// How far the vehicle is with a stop.
    public struct State: RawRepresentable, Hashable, Sendable {
        /// The value on the wire; unknown ones are kept.
        public let rawValue: String
        /// Wraps any value, known or not.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The vehicle is not on its way there yet.
        public static let new = Self(rawValue: "NEW")
        /// The vehicle is on its way there.
        public static let enroute = Self(rawValue: "ENROUTE")
        /// The vehicle is there.
        public static let arrived = Self(rawValue: "ARRIVED")
    }

    /// Degrees north.
    public let latitude: Double
    /// Degrees east.
    public let longitude: Double
    /// What is to be done there, in order.
    public internal(set) var tasks: [TaskID]
    /// How far the vehicle is with it.
    public internal(set) var state: State

    /// How long each task takes, as far as the engine said; not sent.
    public internal(set) var taskDurations: [TaskID: Duration] = [:]

    /// Checks a stop.
    ///
    /// - Parameters:
    ///   - latitude: Degrees north.
    ///   - longitude: Degrees east.
    ///   - tasks: What is to be done there, in order.
    ///   - state: How far the vehicle is with it; only the first of several stops may be begun.
    /// - Throws: ``DriverError`` with ``DriverError/Code/invalidLocation``.
    public init(
        latitude: Double,
        longitude: Double,
        tasks: [TaskID],
        state: State = .new
    ) throws(DriverError) {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else {
            throw DriverError(
                code: .invalidLocation,
                message: "The stop's place \(latitude), \(longitude) is not within -90 to 90 and -180 to 180 degrees."
            )
        }
        self.latitude = latitude
        self.longitude = longitude
        self.tasks = tasks
        self.state = state
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// How far a vehicle is with a stop, in the shape of Google's Driver SDK.
public enum GMTDVehicleStopState: Int, Sendable {
    /// The engine said something else.
    case unspecified
    /// The vehicle is not on its way there yet.
    case new
    /// The vehicle is on its way there.
    case enroute
    /// The vehicle is there.
    case arrived
}

/// A task at a stop, in the shape of Google's Driver SDK.
public final class GMTDTaskInfo: NSObject, Sendable {
    /// The task.
    public let taskID: String
    /// The seconds that it takes; the engine knows that from the task itself and ignores what is set here.
    public let taskDuration: TimeInterval

    /// Makes a task's entry.
    public init(taskID: String, taskDuration: TimeInterval) {
        self.taskID = taskID
        self.taskDuration = taskDuration
    }
}

/// A place where a delivery vehicle has to stop, in the shape of Google's Driver SDK.
public final class GMTDVehicleStop: NSObject, Sendable {
    /// What is to be done there.
    public let taskInfoArray: [GMTDTaskInfo]
    /// Where it is; needed before the stop can be set.
    public let plannedWaypoint: GMSNavigationWaypoint?
    /// How far the vehicle is with it.
    public let state: GMTDVehicleStopState

    /// Makes a stop.
    public init(taskInfoArray: [GMTDTaskInfo], plannedWaypoint: GMSNavigationWaypoint?, state: GMTDVehicleStopState) {
        self.taskInfoArray = taskInfoArray
        self.plannedWaypoint = plannedWaypoint
        self.state = state
    }
}

// MARK: - To and from this module's own stops

extension GMTDVehicleStop {
    private static let states: [(GMTDVehicleStopState, VehicleStop.State)] = [
        (.new, .new), (.enroute, .enroute), (.arrived, .arrived),
    ]

    convenience init(_ stop: VehicleStop) {
        self.init(
            taskInfoArray: stop.tasks.map {
                GMTDTaskInfo(taskID: $0.value, taskDuration: (stop.taskDurations[$0] ?? .zero) / .seconds(1))
            },
            plannedWaypoint: GMSNavigationWaypoint(
                location: CLLocationCoordinate2D(latitude: stop.latitude, longitude: stop.longitude), title: ""),
            state: Self.states.first { $0.1 == stop.state }?.0 ?? .unspecified
        )
    }

    var stop: VehicleStop {
        get throws {
            guard let place = self.plannedWaypoint?.coordinate else {
                throw DriverError(code: .invalidStops, message: "A stop has no waypoint; give it one.")
            }
            return try VehicleStop(
                latitude: place.latitude,
                longitude: place.longitude,
                tasks: self.taskInfoArray.map { try TaskID(checking: $0.taskID) },
                state: Self.states.first { $0.0 == self.state }?.1 ?? .new
            )
        }
    }
}

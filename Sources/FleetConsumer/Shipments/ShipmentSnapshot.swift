// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
public import Foundation

/// What is known of a shipment after the last answer, as far as the company shows it.
public struct ShipmentSnapshot: Hashable, Sendable {
    /// What the recipient knows the shipment by.
    public var tracking: TrackingID
    /// Whether it is still to be done.
    public var state: ShipmentState
    /// How it ended; `nil` before that is known.
    public var outcome: ShipmentOutcome?
    /// When it ended.
    public var outcomeTime: Date?
    /// Where it is to be done.
    public var plannedPoint: GeoPoint?
    /// When it shall be done.
    public var timeWindow: DateInterval?
    /// Where the vehicle was seen last; `nil` while that is not shown.
    public var vehiclePosition: VehiclePosition?
    /// How many stops are left, this one included; `nil` while that is not shown.
    public var remainingStopCount: Int?
    /// Metres to the stop; `nil` while that is not shown.
    public var remainingDistanceMeters: Int?
    /// When the vehicle will be there; `nil` while that is not shown.
    public var estimatedArrival: Date?
    /// When it will be done; `nil` while that is not shown.
    public var estimatedCompletion: Date?
    /// The way to the stop; empty while that is not shown.
    public var route: [GeoPoint]

    /// Makes a snapshot, as for an app's previews and tests; by default, of a shipment of which nothing more is shown.
    public init(
        tracking: TrackingID,
        state: ShipmentState,
        outcome: ShipmentOutcome? = nil,
        outcomeTime: Date? = nil,
        plannedPoint: GeoPoint? = nil,
        timeWindow: DateInterval? = nil,
        vehiclePosition: VehiclePosition? = nil,
        remainingStopCount: Int? = nil,
        remainingDistanceMeters: Int? = nil,
        estimatedArrival: Date? = nil,
        estimatedCompletion: Date? = nil,
        route: [GeoPoint] = []
    ) {
        self.tracking = tracking
        self.state = state
        self.outcome = outcome
        self.outcomeTime = outcomeTime
        self.plannedPoint = plannedPoint
        self.timeWindow = timeWindow
        self.vehiclePosition = vehiclePosition
        self.remainingStopCount = remainingStopCount
        self.remainingDistanceMeters = remainingDistanceMeters
        self.estimatedArrival = estimatedArrival
        self.estimatedCompletion = estimatedCompletion
        self.route = route
    }
}

// MARK: - Changes

extension ShipmentSnapshot: FollowedSnapshot {
    var isOver: Bool { self.outcome != nil }

    /// What is different from an earlier snapshot, in the order in which an app wants to hear it.
    func changes(since old: ShipmentSnapshot?) -> [ShipmentChange] {
        func changed<Value: Equatable>(_ path: KeyPath<Self, Value>, from initial: Value) -> Value? {
            let value = self[keyPath: path]
            return value == (old?[keyPath: path] ?? initial) ? nil : value
        }
        return [
            self.state == old?.state ? nil : .state(self.state),
            changed(\.vehiclePosition, from: nil).map { .vehiclePosition($0) },
            changed(\.remainingStopCount, from: nil).map { .remainingStops($0) },
            changed(\.remainingDistanceMeters, from: nil).map { .remainingDistance(meters: $0) },
            changed(\.estimatedArrival, from: nil).map { .estimatedArrival($0) },
            changed(\.estimatedCompletion, from: nil).map { .estimatedCompletion($0) },
            changed(\.route, from: []).map { .route($0) },
            changed(\.timeWindow, from: nil).map { .timeWindow($0) },
            old?.outcome == nil ? self.outcome.map { .ended($0) } : nil,
        ].compactMap(\.self)
    }
}

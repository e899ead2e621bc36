// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf

/// One list of vehicles, checked: which of them it holds.
struct VehicleList {
    typealias Request = Maps_Fleetengine_V1_ListVehiclesRequest

    /// What the store can tell of the vehicles looked for.
    let scan: StoreScan

    private let request: Request
    private let categories: Set<Vehicle.VehicleType.Category>
    private let tripTypes: Set<TripType>
    private let attributes: AttributeCriteria
    private let maximumStaleness: Duration?
    private let now: Google_Protobuf_Timestamp

    /// Checks a list.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    init(_ request: Request, context: CallContext) throws(EngineError) {
        func require(_ holds: Bool, _ field: String, _ problem: String) throws(EngineError) {
            guard holds else { throw .invalidArgument("\(field) \(problem).", field: field) }
        }
        self.categories = Set(request.vehicleTypeCategories)
        try require(
            self.categories.isSubset(of: Vehicle.VehicleType.Category.allCases.dropFirst()),
            "vehicle_type_categories", "holds UNKNOWN or no category"
        )
        self.tripTypes = Set(request.tripTypes)
        try require(
            self.tripTypes.isSubset(of: [.shared, .exclusive]), "trip_types", "must hold SHARED and EXCLUSIVE only")
        try require(request.minimumCapacity.value >= 0, "minimum_capacity", "must not be negative")
        try require(
            Maps_Fleetengine_V1_VehicleState.allCases.contains(request.vehicleState), "vehicle_state",
            "is not a known state"
        )
        self.maximumStaleness = request.hasMaximumStaleness ? Duration(request.maximumStaleness) : nil
        try require(self.maximumStaleness.map { $0 > .zero } ?? true, "maximum_staleness", "must be positive")
        self.attributes = try AttributeCriteria(request)
        self.scan = StoreScan(
            isActiveOnly: request.vehicleState == .online,
            box: request.hasViewport ? try GeoBox(request.viewport) : nil
        )
        self.request = request
        self.now = Google_Protobuf_Timestamp(stamping: context.now)
    }

    /// Whether ``scan`` tells everything.
    var isUnrestricted: Bool {
        self.categories.isEmpty && self.tripTypes.isEmpty
            && !self.request.hasMinimumCapacity && self.maximumStaleness == nil && !self.request.onTripOnly
            && self.request.vehicleState != .offline && self.attributes.isEmpty
    }

    /// Whether the list holds a vehicle that ``scan`` found.
    func holds(_ vehicle: Vehicle) -> Bool {
        let request = self.request
        return (self.categories.isEmpty || self.categories.contains(vehicle.vehicleType.category))
            && (self.tripTypes.isEmpty || vehicle.supportedTripTypes.contains(where: self.tripTypes.contains))
            && (!request.hasMinimumCapacity || vehicle.maximumCapacity >= request.minimumCapacity.value)
            && (request.vehicleState == .unknownVehicleState || vehicle.vehicleState == request.vehicleState)
            && (!request.onTripOnly || !vehicle.currentTrips.isEmpty)
            && self.isFresh(vehicle)
            && self.attributes.match(vehicle.attributes)
    }

    private func isFresh(_ vehicle: Vehicle) -> Bool {
        guard let maximumStaleness else { return true }
        return vehicle.lastLocation.place != nil
            && vehicle.lastLocation.serverTime.duration(to: self.now) <= maximumStaleness
    }
}

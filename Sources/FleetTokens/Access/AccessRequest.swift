// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// What a call addresses, as far as access depends on it.
public struct AccessRequest: Hashable, Sendable {
    /// The RPC.
    public var method: FleetMethod
    /// The provider in the request's `name` or `parent`.
    public var provider: ProviderID
    /// The vehicle addressed, created, or (SearchTrips) searched by.
    public var vehicle: VehicleID?
    /// The trip addressed, created, or (SearchVehicles) searched for.
    public var trip: TripID?
    /// The vehicle that ``trip`` is assigned to, where it exists and has one: a driver reaches the trips of its vehicle.
    public var vehicleOfTrip: VehicleID?
    /// The vehicle that the call assigns ``trip`` to, where that matters and it assigns it to one.
    public var nextVehicleOfTrip: VehicleID?
    /// The delivery vehicle addressed or created.
    public var deliveryVehicle: DeliveryVehicleID?
    /// The task addressed or created, or all tasks of a batch.
    public var tasks: [TaskID]
    /// The tracking id looked up.
    public var tracking: TrackingID?
    /// The paths of the update mask, in either spelling; for CreateTrip, `vehicle_waypoints` where the trip
    /// has any, and a vehicle.
    public var maskedFields: [String]

    /// Describes a call.
    public init(
        method: FleetMethod,
        provider: ProviderID,
        vehicle: VehicleID? = nil,
        trip: TripID? = nil,
        vehicleOfTrip: VehicleID? = nil,
        nextVehicleOfTrip: VehicleID? = nil,
        deliveryVehicle: DeliveryVehicleID? = nil,
        tasks: [TaskID] = [],
        tracking: TrackingID? = nil,
        maskedFields: [String] = []
    ) {
        self.method = method
        self.provider = provider
        self.vehicle = vehicle
        self.trip = trip
        self.vehicleOfTrip = vehicleOfTrip
        self.nextVehicleOfTrip = nextVehicleOfTrip
        self.deliveryVehicle = deliveryVehicle
        self.tasks = tasks
        self.tracking = tracking
        self.maskedFields = maskedFields
    }

    /// Describes a call by the name of the resource it addresses.
    public init(method: FleetMethod, resource: ResourceName, maskedFields: [String] = []) {
        self.init(method: method, provider: resource.provider, maskedFields: maskedFields)
        switch resource {
        case .provider: break
        case .vehicle(_, let id): self.vehicle = id
        case .trip(_, let id), .billableTrip(_, let id): self.trip = id
        case .deliveryVehicle(_, let id): self.deliveryVehicle = id
        case .task(_, let id): self.tasks = [id]
        case .taskTrackingInfo(_, let id): self.tracking = id
        }
    }

    /// What an update of a trip takes where the trip has no vehicle: the order of a vehicle's stops is ignored then.
    ///
    /// It is the same update without that order, for claims alone: the role needs every permission of the whole update.
    /// `nil` where the update holds no order, or a vehicle is known that the trip has or is given.
    package var withoutOrder: AccessRequest? {
        guard self.method == .updateTrip, self.vehicleOfTrip == nil, self.nextVehicleOfTrip == nil else { return nil }
        var access = self
        access.maskedFields.removeAll { $0 == "vehicle_waypoints" || $0 == "vehicleWaypoints" }
        return access.maskedFields.count < self.maskedFields.count ? access : nil
    }
}

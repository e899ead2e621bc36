// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// An RPC of Fleet Engine; the raw value is its gRPC path without the leading slash.
public enum FleetMethod: String, CaseIterable, Sendable {
    case createVehicle = "maps.fleetengine.v1.VehicleService/CreateVehicle"
    case getVehicle = "maps.fleetengine.v1.VehicleService/GetVehicle"
    case updateVehicle = "maps.fleetengine.v1.VehicleService/UpdateVehicle"
    case updateVehicleAttributes = "maps.fleetengine.v1.VehicleService/UpdateVehicleAttributes"
    case deleteVehicle = "maps.fleetengine.v1.VehicleService/DeleteVehicle"
    case listVehicles = "maps.fleetengine.v1.VehicleService/ListVehicles"
    case searchVehicles = "maps.fleetengine.v1.VehicleService/SearchVehicles"
    case createTrip = "maps.fleetengine.v1.TripService/CreateTrip"
    case getTrip = "maps.fleetengine.v1.TripService/GetTrip"
    case updateTrip = "maps.fleetengine.v1.TripService/UpdateTrip"
    case deleteTrip = "maps.fleetengine.v1.TripService/DeleteTrip"
    case searchTrips = "maps.fleetengine.v1.TripService/SearchTrips"
    case reportBillableTrip = "maps.fleetengine.v1.TripService/ReportBillableTrip"
    case createDeliveryVehicle = "maps.fleetengine.delivery.v1.DeliveryService/CreateDeliveryVehicle"
    case getDeliveryVehicle = "maps.fleetengine.delivery.v1.DeliveryService/GetDeliveryVehicle"
    case updateDeliveryVehicle = "maps.fleetengine.delivery.v1.DeliveryService/UpdateDeliveryVehicle"
    case deleteDeliveryVehicle = "maps.fleetengine.delivery.v1.DeliveryService/DeleteDeliveryVehicle"
    case listDeliveryVehicles = "maps.fleetengine.delivery.v1.DeliveryService/ListDeliveryVehicles"
    case createTask = "maps.fleetengine.delivery.v1.DeliveryService/CreateTask"
    case batchCreateTasks = "maps.fleetengine.delivery.v1.DeliveryService/BatchCreateTasks"
    case getTask = "maps.fleetengine.delivery.v1.DeliveryService/GetTask"
    case updateTask = "maps.fleetengine.delivery.v1.DeliveryService/UpdateTask"
    case deleteTask = "maps.fleetengine.delivery.v1.DeliveryService/DeleteTask"
    case listTasks = "maps.fleetengine.delivery.v1.DeliveryService/ListTasks"
    case getTaskTrackingInfo = "maps.fleetengine.delivery.v1.DeliveryService/GetTaskTrackingInfo"

    /// The method's short name, such as `UpdateVehicle`.
    public var name: String { self.rawValue.split(separator: "/").last.map(String.init) ?? self.rawValue }

    /// Whether it belongs to the scheduled-tasks service, whose accounts have roles of their own.
    public var isDelivery: Bool { self.rawValue.hasPrefix("maps.fleetengine.delivery.") }

    /// Finds a method by its short name or its gRPC path, with or without a leading slash.
    public init?(named name: some StringProtocol) {
        let name = name.hasPrefix("/") ? String(name.dropFirst()) : String(name)
        guard let method = Self(rawValue: name) ?? Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = method
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

extension EngineCall {
    /// A call to a vehicle by its name.
    static func access(vehicle name: String, maskedFields: [String] = []) throws(EngineError) -> AccessRequest {
        let resource = try Self.resource(name)
        guard case .vehicle = resource else { throw Self.misnamed(resource, "a vehicle", "vehicles/V") }
        return AccessRequest(method: Self.method, resource: resource, maskedFields: maskedFields)
    }

    /// A call to a trip by its name.
    static func access(trip name: String, maskedFields: [String] = []) throws(EngineError) -> AccessRequest {
        let resource = try Self.resource(name)
        guard case .trip = resource else { throw Self.misnamed(resource, "a trip", "trips/T") }
        return AccessRequest(method: Self.method, resource: resource, maskedFields: maskedFields)
    }

    /// A call to a delivery vehicle by its name.
    static func access(
        deliveryVehicle name: String, maskedFields: [String] = [], field: String = "name"
    ) throws(EngineError) -> AccessRequest {
        let resource = try Self.resource(name, field: field)
        guard case .deliveryVehicle = resource else {
            throw Self.misnamed(resource, "a delivery vehicle", "deliveryVehicles/V", field: field)
        }
        return AccessRequest(method: Self.method, resource: resource, maskedFields: maskedFields)
    }

    /// A call to a task by its name.
    static func access(
        task name: String, maskedFields: [String] = [], field: String = "name"
    ) throws(EngineError) -> AccessRequest {
        let resource = try Self.resource(name, field: field)
        guard case .task = resource else { throw Self.misnamed(resource, "a task", "tasks/T", field: field) }
        return AccessRequest(method: Self.method, resource: resource, maskedFields: maskedFields)
    }

    /// A call to a collection by its parent.
    static func access(parent: String) throws(EngineError) -> AccessRequest {
        guard case .provider(let provider) = try Self.resource(parent, field: "parent") else {
            throw .invalidArgument("parent is not a provider; use providers/P.", field: "parent")
        }
        return AccessRequest(method: Self.method, provider: provider)
    }

    /// An id that a request carries by itself.
    static func id<Kind>(_ text: String, field: @autoclosure () -> String) throws(EngineError) -> FleetID<Kind> {
        do {
            return try FleetID(checking: text)
        } catch {
            let field = field()
            throw .invalidArgument("\(field) is not valid. \(error.message)", field: field)
        }
    }

    /// The resource that a name means.
    static func resource(_ name: String, field: String = "name") throws(EngineError) -> ResourceName {
        do {
            return try ResourceName(checking: name)
        } catch {
            throw .invalidArgument(error.message, field: field)
        }
    }

    /// The answer to the name of another kind of resource.
    static func misnamed(
        _ resource: ResourceName, _ noun: String, _ form: String, field: String = "name"
    ) -> EngineError {
        .invalidArgument("\(resource) is not \(noun); use providers/P/\(form).", field: field)
    }
}

extension AccessRequest {
    /// The vehicle that the call addresses.
    var vehicleAddress: (id: VehicleID, name: ResourceName) {
        get throws(EngineError) {
            guard let id = self.vehicle else { throw .unexpected }
            return (id, .vehicle(self.provider, id))
        }
    }

    /// The trip that the call addresses.
    var tripAddress: (id: TripID, name: ResourceName) {
        get throws(EngineError) {
            guard let id = self.trip else { throw .unexpected }
            return (id, .trip(self.provider, id))
        }
    }

    /// The delivery vehicle that the call addresses.
    var deliveryVehicleAddress: (id: DeliveryVehicleID, name: ResourceName) {
        get throws(EngineError) {
            guard let id = self.deliveryVehicle else { throw .unexpected }
            return (id, .deliveryVehicle(self.provider, id))
        }
    }

    /// The task that the call addresses.
    var taskAddress: (id: TaskID, name: ResourceName) {
        get throws(EngineError) {
            guard let id = self.tasks.first else { throw .unexpected }
            return (id, .task(self.provider, id))
        }
    }
}

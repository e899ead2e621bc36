// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Reads what a request addresses.
extension EngineCall {
    /// A call to a vehicle by its name.
    static func access(vehicle name: String, maskedFields: [String] = []) throws(EngineError) -> AccessRequest {
        let resource = try Self.resource(name)
        guard case .vehicle = resource else {
            throw .invalidArgument("\(resource) is not a vehicle; use providers/P/vehicles/V.", field: "name")
        }
        return AccessRequest(method: Self.method, resource: resource, maskedFields: maskedFields)
    }

    /// A call to a trip by its name.
    static func access(trip name: String, maskedFields: [String] = []) throws(EngineError) -> AccessRequest {
        let resource = try Self.resource(name)
        guard case .trip = resource else {
            throw .invalidArgument("\(resource) is not a trip; use providers/P/trips/T.", field: "name")
        }
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
    static func id<Kind>(_ text: String, field: String) throws(EngineError) -> FleetID<Kind> {
        do {
            return try FleetID(checking: text)
        } catch {
            throw .invalidArgument("\(field) is not valid. \(error.message)", field: field)
        }
    }

    private static func resource(_ name: String, field: String = "name") throws(EngineError) -> ResourceName {
        do {
            return try ResourceName(checking: name)
        } catch {
            throw .invalidArgument(error.message, field: field)
        }
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
}

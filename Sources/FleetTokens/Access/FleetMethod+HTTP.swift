// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// How a method is called over HTTP, as the public API's annotations (`google.api.http`) say.
package struct HTTPForm: Hashable, Sendable {
    /// An HTTP method.
    package enum Verb: String, CaseIterable, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    /// The verb.
    package let verb: Verb
    /// The path below `/v1/providers/*/`, with `*` for an id.
    package let path: String
    /// The query parameter that names what is created.
    package let newID: String?

    /// The first segment of the path, without a custom verb.
    package var collection: String { String(self.path.prefix { $0 != "/" && $0 != ":" }) }
    /// Whether the path has a segment for an id.
    package var hasID: Bool { self.path.contains("*") }
    /// The custom verb that the path ends with, such as `:search`; empty where there is none.
    package var action: String { self.path.firstIndex(of: ":").map { String(self.path[$0...]) } ?? "" }

    fileprivate init(_ verb: Verb, _ path: String, newID: String? = nil) {
        self.verb = verb
        self.path = path
        self.newID = newID
    }
}

extension FleetMethod {
    /// How the method is called over HTTP.
    package var httpForm: HTTPForm {
        switch self {
        case .createVehicle: HTTPForm(.post, "vehicles", newID: "vehicleId")
        case .getVehicle: HTTPForm(.get, "vehicles/*")
        case .updateVehicle: HTTPForm(.put, "vehicles/*")
        case .updateVehicleAttributes: HTTPForm(.post, "vehicles/*:updateAttributes")
        case .deleteVehicle: HTTPForm(.delete, "vehicles/*")
        case .listVehicles: HTTPForm(.get, "vehicles")
        case .searchVehicles: HTTPForm(.post, "vehicles:search")
        case .createTrip: HTTPForm(.post, "trips", newID: "tripId")
        case .getTrip: HTTPForm(.get, "trips/*")
        case .updateTrip: HTTPForm(.put, "trips/*")
        case .deleteTrip: HTTPForm(.delete, "trips/*")
        case .searchTrips: HTTPForm(.post, "trips:search")
        case .reportBillableTrip: HTTPForm(.post, "billableTrips/*:report")
        case .createDeliveryVehicle: HTTPForm(.post, "deliveryVehicles", newID: "deliveryVehicleId")
        case .getDeliveryVehicle: HTTPForm(.get, "deliveryVehicles/*")
        case .updateDeliveryVehicle: HTTPForm(.patch, "deliveryVehicles/*")
        case .deleteDeliveryVehicle: HTTPForm(.delete, "deliveryVehicles/*")
        case .listDeliveryVehicles: HTTPForm(.get, "deliveryVehicles")
        case .createTask: HTTPForm(.post, "tasks", newID: "taskId")
        case .batchCreateTasks: HTTPForm(.post, "tasks:batchCreate")
        case .getTask: HTTPForm(.get, "tasks/*")
        case .updateTask: HTTPForm(.patch, "tasks/*")
        case .deleteTask: HTTPForm(.delete, "tasks/*")
        case .listTasks: HTTPForm(.get, "tasks")
        case .getTaskTrackingInfo: HTTPForm(.get, "taskTrackingInfo/*")
        }
    }
}

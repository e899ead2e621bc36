// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
public import Foundation

/// One call as a log tells it: what was asked and what was answered, in the JSON of the public API.
public struct LoggedCall: Hashable, Sendable {
    /// A refusal.
    struct Failure: Hashable, Sendable {
        /// The status word, such as `NOT_FOUND`.
        var status: String
        /// The reason in words.
        var message: String
    }

    /// What was called.
    let method: FleetMethod
    /// When it was answered.
    public let time: Date
    /// The request message.
    let request: JSONObject
    /// The response message; `nil` for a refusal.
    let response: JSONObject?
    /// Why it was refused; `nil` for a success.
    let failure: Failure?
    /// What tells its entry from others of the same log and time; `nil` where the log had nothing for that.
    var insertID: String?

    /// The RPC's short name, such as `UpdateVehicle`.
    public var name: String { self.method.name }
    /// The status word: `OK`, or that of the refusal.
    public var status: String { self.failure?.status ?? "OK" }
    /// Whether it was refused.
    public var isRefused: Bool { self.failure != nil }
    /// Whether it was refused for its token, which recordings do not hold.
    public var isDenied: Bool { ["UNAUTHENTICATED", "PERMISSION_DENIED", "401", "403"].contains(self.status) }

    /// Compares the end of an answer over REST with the recorded one.
    ///
    /// - Parameters:
    ///   - httpStatus: The HTTP status of the answer.
    ///   - word: The status word in the body of a refusal; `nil` without one.
    /// - Returns: Whether both went well, or were refused with the same status.
    public func endsAlike(httpStatus: Int, word: String?) -> Bool {
        guard let failure else { return httpStatus == 200 }
        // Where the log has no word, it may have the HTTP status.
        return httpStatus != 200 && (failure.status == word || failure.status == "\(httpStatus)")
    }

    /// Whether a body may be the call's answer: a JSON object that has a name where the call returns a resource.
    ///
    /// - Parameter body: The body of a success over REST.
    /// - Returns: Whether it may; what is not the API may answer with 200 to everything.
    public func mayBeAnswered(by body: Data) -> Bool {
        guard let answer = (try? JSONValue(parsing: body))?.object else { return false }
        return !self.returnsResource || answer["name"]?.string != nil
    }

    private var returnsResource: Bool {
        switch self.method {
        case .getVehicle, .getTrip, .getDeliveryVehicle, .getTask, .getTaskTrackingInfo: true
        default: self.resourceField != nil
        }
    }

    /// The name of the resource or its parent, such as `providers/p/vehicles/v`.
    var resourceName: String {
        self.request["name"]?.string ?? self.request["parent"]?.string ?? self.resource?["name"]?.string ?? ""
    }

    /// The provider's id.
    var provider: String {
        let parts = Array(PathSegments(self.resourceName[...]))
        return parts.count > 1 ? String(parts[1]) : ""
    }

    /// The id of the resource, or `nil` where the call is about many.
    var resourceID: String? {
        if let field = self.idField, let id = self.request[field]?.string { return id }
        let parts = Array(PathSegments(self.resourceName[...]))
        return parts.count > 3 ? String(parts[3]) : nil
    }

    /// The resource in the request; `nil` where it holds none.
    var resource: JSONObject? { self.resourceField.flatMap { self.request[$0]?.object } }

    /// The field of the request that holds the resource.
    var resourceField: String? {
        switch self.method {
        case .createVehicle, .updateVehicle: "vehicle"
        case .createTrip, .updateTrip: "trip"
        case .createDeliveryVehicle, .updateDeliveryVehicle: "deliveryVehicle"
        case .createTask, .updateTask: "task"
        default: nil
        }
    }

    /// The top-level fields that an update names, whole or a part of them, in camel case.
    var maskedFields: Set<String> {
        let paths = (self.request["updateMask"]?.string ?? "").split(separator: ",")
        return Set(paths.map { FieldName.camelCase($0.prefix { $0 != "." }) })
    }

    /// The field of a creating request that holds the id, under which logs keep the id of every call on one resource.
    var idField: String? {
        switch self.method {
        case .createVehicle, .getVehicle, .updateVehicle, .deleteVehicle, .updateVehicleAttributes: "vehicleId"
        case .createTrip, .getTrip, .updateTrip, .deleteTrip: "tripId"
        case .createDeliveryVehicle, .getDeliveryVehicle, .updateDeliveryVehicle, .deleteDeliveryVehicle:
            "deliveryVehicleId"
        case .createTask, .getTask, .updateTask, .deleteTask: "taskId"
        case .getTaskTrackingInfo: "trackingId"
        default: nil
        }
    }

    /// The collection of the resource, such as `vehicles`.
    var collection: String? {
        switch self.idField {
        case "vehicleId": "vehicles"
        case "tripId": "trips"
        case "deliveryVehicleId": "deliveryVehicles"
        case "taskId": "tasks"
        case "trackingId": "taskTrackingInfo"
        default: nil
        }
    }
}

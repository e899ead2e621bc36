// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
public import Foundation

/// A call of a recording as a request over REST.
public struct ReplayedCall: Sendable {
    /// The verb, such as `PUT`.
    public let verb: String
    /// The path, one segment at a time and not encoded.
    public let path: [String]
    /// The query, not encoded.
    public let query: [(name: String, value: String)]
    /// The body, in JSON; `nil` for none.
    public let body: Data?
    /// Whether the scheduled-tasks service answers it, whose accounts have roles of their own.
    public let isDelivery: Bool

    init(
        _ verb: String, _ path: [String], query: [(name: String, value: String)] = [], body: JSONObject? = nil,
        isDelivery: Bool
    ) {
        self.verb = verb
        self.path = path
        self.query = query
        self.body = body.map { Data(JSONValue.object($0).serialized) }
        self.isDelivery = isDelivery
    }
}

extension LoggedCall {
    /// The call again, for another provider.
    ///
    /// - Parameter provider: Whose resource it is about.
    /// - Returns: The request; `nil` for calls that are about many resources.
    public func replayed(for provider: ProviderID) -> ReplayedCall? {
        guard let collection, let resourceID else { return nil }
        let parent = ["v1", "providers", provider.value, collection]
        let resource = self.resourceField.flatMap { self.request[$0]?.object } ?? JSONObject()
        func call(
            _ verb: String, _ path: [String], _ query: [(name: String, value: String)] = [], _ body: JSONObject? = nil
        ) -> ReplayedCall {
            ReplayedCall(verb, path, query: query, body: body, isDelivery: self.method.isDelivery)
        }
        switch self.method {
        case .createVehicle, .createTrip, .createDeliveryVehicle, .createTask:
            return call("POST", parent, [(name: self.idField ?? "", value: resourceID)], resource)
        case .updateVehicle, .updateTrip, .updateDeliveryVehicle, .updateTask:
            let verb = self.method.isDelivery ? "PATCH" : "PUT"
            let mask = self.request["updateMask"]?.string ?? ""
            return call(verb, parent + [resourceID], [(name: "updateMask", value: mask)], resource)
        case .getVehicle, .getTrip, .getDeliveryVehicle, .getTask, .getTaskTrackingInfo:
            return call("GET", parent + [resourceID])
        case .deleteVehicle, .deleteTrip, .deleteDeliveryVehicle, .deleteTask:
            return call("DELETE", parent + [resourceID])
        default: return nil
        }
    }
}

extension CallRecording {
    /// What must be there for a call to be replayed: a recording starts in the middle of things.
    ///
    /// - Parameter provider: Whose resources they are.
    /// - Returns: By the index of the call that they precede: first of all, creations of the resources that the recording does
    ///   not create, as their first answers show them; and the stops of a delivery vehicle before it is first used, as they
    ///   may name tasks that the recording creates.
    public func presumed(for provider: ProviderID) -> [Int: [ReplayedCall]] {
        var known: Set<String> = []
        var presumed: [Int: [ReplayedCall]] = [:]
        for (index, call) in self.calls.enumerated() {
            guard let collection = call.collection, let id = call.resourceID, collection != "taskTrackingInfo",
                known.insert("\(collection)/\(id)").inserted, call.response != nil,
                ![.createVehicle, .createTrip, .createDeliveryVehicle, .createTask].contains(call.method)
            else { continue }
            presumed[0, default: []].append(call.creation(for: provider, collection, id))
            if collection == "deliveryVehicles" { presumed[index, default: []].append(call.plan(for: provider, id)) }
        }
        return presumed
    }
}

extension LoggedCall {
    /// The fields that only an update may set, of a delivery vehicle that is on its way.
    private static let plan = ["remainingVehicleJourneySegments", "currentRouteSegment", "remainingDistanceMeters"]

    fileprivate func creation(for provider: ProviderID, _ collection: String, _ id: String) -> ReplayedCall {
        let isDelivery = self.method.isDelivery
        var body = self.response ?? JSONObject()
        if isDelivery {
            body = body.only([
                "type", "attributes", "trackingId", "plannedLocation", "taskDuration", "targetTimeWindow",
            ])
            if collection == "tasks" { body["state"] = .string("OPEN") }
        }
        return ReplayedCall(
            "POST", ["v1", "providers", provider.value, collection], query: [(name: self.idField ?? "", value: id)],
            body: body, isDelivery: isDelivery)
    }

    fileprivate func plan(for provider: ProviderID, _ id: String) -> ReplayedCall {
        ReplayedCall(
            "PATCH", ["v1", "providers", provider.value, "deliveryVehicles", id],
            query: [(name: "updateMask", value: Self.plan.joined(separator: ","))],
            body: self.response?.only(Set(Self.plan)), isDelivery: true)
    }
}

extension JSONObject {
    fileprivate func only(_ keys: Set<String>) -> JSONObject {
        JSONObject(Dictionary(self.filter { keys.contains($0.key) }.map { ($0.key, $0.value) }) { first, _ in first })
    }
}

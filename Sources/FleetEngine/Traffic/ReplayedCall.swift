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
    /// What follows the path, such as `:batchCreate`; empty for most calls.
    public let action: String
    /// The query, not encoded.
    public let query: [(name: String, value: String)]
    /// The body, in JSON; `nil` for none.
    public let body: Data?
    /// Whether the scheduled-tasks service answers it, whose accounts have roles of their own.
    public let isDelivery: Bool
    /// Whether it creates several tasks, which needs a claim of its own.
    public var isBatch: Bool { self.action == Self.batchCreation }

    fileprivate static let batchCreation = ":batchCreate"

    init(
        _ verb: String, _ path: [String], action: String = "", query: [(name: String, value: String)] = [],
        body: JSONObject? = nil,
        isDelivery: Bool
    ) {
        self.verb = verb
        self.path = path
        self.action = action
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
        if self.method == .batchCreateTasks { return self.batch(for: provider) }
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
        case .updateVehicleAttributes:
            return ReplayedCall(
                "POST", parent + [resourceID], action: ":updateAttributes",
                body: ["attributes": self.request["attributes"] ?? .array([])], isDelivery: false)
        default: return nil
        }
    }

    /// The creation of several tasks; names of the former provider are left out, as they need not be given.
    private func batch(for provider: ProviderID) -> ReplayedCall {
        let requests = self.request["requests"]?.array?.compactMap(\.object) ?? []
        return ReplayedCall(
            "POST", ["v1", "providers", provider.value, "tasks"], action: ReplayedCall.batchCreation,
            body: ["requests": .array(requests.map { .object($0.only(["taskId", "task"])) })], isDelivery: true)
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
        let creating: Set<FleetMethod> = [.createVehicle, .createTrip, .createDeliveryVehicle, .createTask]
        var known: Set<String> = []
        var creations: [(collection: String, call: ReplayedCall)] = []
        var presumed: [Int: [ReplayedCall]] = [:]
        for (index, call) in self.calls.enumerated() where call.response != nil {
            known.formUnion(call.batchedTasks.map { "tasks/\($0)" })
            guard let collection = call.collection, let id = call.resourceID, collection != "taskTrackingInfo" else {
                continue
            }
            if known.insert("\(collection)/\(id)").inserted, !creating.contains(call.method) {
                creations.append((collection, call.creation(for: provider, collection, id)))
                if collection == "deliveryVehicles" {
                    presumed[index, default: []].append(call.plan(for: provider, id))
                }
            }
        }
        for call in self.calls {
            let stops = (call.resourceField.flatMap { call.request[$0]?.object } ?? JSONObject()).stopTasks
            for id in stops + (call.response?.stopTasks ?? []) where known.insert("tasks/\(id)").inserted {
                creations.append(("tasks", .openTask(id, for: provider)))
            }
        }
        // A trip may be assigned to a vehicle.
        let order = ["vehicles", "deliveryVehicles", "tasks", "trips"]
        presumed[0, default: []].insert(
            contentsOf: order.flatMap { name in creations.filter { $0.collection == name }.map(\.call) }, at: 0)
        return presumed
    }
}

extension ReplayedCall {
    /// Makes a task that stops of a recording name, and of which it tells no more.
    fileprivate static func openTask(_ id: String, for provider: ProviderID) -> Self {
        Self(
            "POST", ["v1", "providers", provider.value, "tasks"], query: [(name: "taskId", value: id)],
            body: [
                "type": .string("UNAVAILABLE"), "state": .string("OPEN"), "taskDuration": .string("60s"),
            ], isDelivery: true)
    }
}

extension LoggedCall {
    /// The ids of the tasks that the call creates at once.
    fileprivate var batchedTasks: [String] {
        self.method == .batchCreateTasks
            ? self.request["requests"]?.array?.compactMap { $0.object?["taskId"]?.string } ?? [] : []
    }

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

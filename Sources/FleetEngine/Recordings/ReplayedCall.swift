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
    public var body: Data? { self.content.map { Data(JSONValue.object($0).serialized) } }
    /// The object that is the body.
    let content: JSONObject?
    /// Whether the scheduled-tasks service answers it, whose accounts have roles of their own.
    public let isDelivery: Bool
    /// Whether it creates what was created, though the recording lacks what a creation takes; that is filled in.
    public let isFilled: Bool
    /// Whether it creates several tasks, which needs a claim of its own.
    public var isBatch: Bool { self.action == Self.batchCreation }

    fileprivate static let batchCreation = ":batchCreate"

    init(
        _ verb: String, _ path: [String], action: String = "", query: [(name: String, value: String)] = [],
        body: JSONObject? = nil,
        isDelivery: Bool, isFilled: Bool = false
    ) {
        self.verb = verb
        self.path = path
        self.action = action
        self.query = query
        self.content = body
        self.isDelivery = isDelivery
        self.isFilled = isFilled
    }
}

extension LoggedCall {
    /// The call again, for another provider; a list is asked for from its first page.
    ///
    /// - Parameter provider: Whose resource it is about.
    /// - Returns: The request; `nil` where the recording does not tell which resource it is about.
    public func replayed(for provider: ProviderID) -> ReplayedCall? {
        self.replayed(for: provider, pages: ReplayPages())
    }

    /// The call again, for another provider.
    ///
    /// - Parameters:
    ///   - provider: Whose resource it is about.
    ///   - pages: The pages of lists that were met so far; a list is asked for from its first page where its own is not
    ///     among them.
    /// - Returns: The request; `nil` where the recording does not tell which resource it is about.
    package func replayed(for provider: ProviderID, pages: ReplayPages) -> ReplayedCall? {
        if self.method == .batchCreateTasks { return self.batch(for: provider) }
        guard let collection, let resourceID else { return self.inquiry(for: provider, pages) }
        let parent = ["v1", "providers", provider.value, collection]
        var resource = self.resource ?? JSONObject()
        // The trip has another version now; where it was refused for an old one, that is old still.
        if !self.isRefused { resource["intermediateDestinationsVersion"] = nil }
        func call(
            _ verb: String, _ path: [String], _ query: [(name: String, value: String)] = [], _ body: JSONObject? = nil
        ) -> ReplayedCall {
            ReplayedCall(verb, path, query: query, body: body, isDelivery: self.method.isDelivery)
        }
        switch self.method {
        case .createVehicle, .createTrip, .createDeliveryVehicle, .createTask:
            // What was refused may have been for what it lacks.
            let body = self.isRefused ? resource : LeastCreation.filled(resource, of: collection)
            return ReplayedCall(
                "POST", parent, query: [(name: self.idField ?? "", value: resourceID)], body: body,
                isDelivery: self.method.isDelivery, isFilled: body != resource)
        case .updateVehicle, .updateTrip, .updateDeliveryVehicle, .updateTask:
            let verb = self.method.isDelivery ? "PATCH" : "PUT"
            let mask = self.request["updateMask"]?.string ?? ""
            return call(verb, parent + [resourceID], [(name: "updateMask", value: mask)], resource)
        case .getVehicle, .getTrip, .getDeliveryVehicle, .getTask, .getTaskTrackingInfo:
            return call("GET", parent + [resourceID], self.readParameters)
        case .deleteVehicle, .deleteTrip, .deleteDeliveryVehicle, .deleteTask:
            return call("DELETE", parent + [resourceID])
        case .updateVehicleAttributes:
            return ReplayedCall(
                "POST", parent + [resourceID], action: ":updateAttributes",
                body: ["attributes": self.request["attributes"] ?? .array([])], isDelivery: false)
        default: return nil
        }
    }

    /// A list, a search or the report of a bill.
    private func inquiry(for provider: ProviderID, _ pages: ReplayPages) -> ReplayedCall? {
        let parent = ["v1", "providers", provider.value]
        let fields = self.ownFields(pages)
        switch self.method {
        case .listVehicles, .listDeliveryVehicles, .listTasks:
            return ReplayedCall(
                "GET", parent + [self.method.httpForm.path], query: fields.parameters,
                isDelivery: self.method.isDelivery)
        case .searchVehicles:
            return ReplayedCall(
                "POST", parent + ["vehicles"], action: ":search", body: fields, isDelivery: false)
        case .searchTrips:
            return ReplayedCall("POST", parent + ["trips"], action: ":search", body: fields, isDelivery: false)
        case .reportBillableTrip:
            guard let resourceID else { return nil }
            return ReplayedCall(
                "POST", parent + ["billableTrips", resourceID], action: ":report", body: fields,
                isDelivery: false)
        default: return nil
        }
    }

    /// The request without what the path says, and with the token of a page of now, as the recorded one is of the former
    /// run; where it was refused for that, it is so again.
    private func ownFields(_ pages: ReplayPages) -> JSONObject {
        var fields = self.request
        for name in ["name", "parent", "header"] { fields[name] = nil }
        if !self.isRefused {
            fields["pageToken"] = (fields["pageToken"]?.string).flatMap(pages.token).map(JSONValue.string)
        }
        return fields
    }

    /// What a read asks to be shown, and how; what its reader had already is of the former run.
    private var readParameters: [(name: String, value: String)] {
        ["view", "routeFormatType"].compactMap { name in
            (self.request[name]?.string).map { (name: name, value: $0) }
        }
    }

    /// The creation of several tasks; the provider may stand in each, and where another than that of all does, it is kept.
    private func batch(for provider: ProviderID) -> ReplayedCall {
        let recorded = (self.request["requests"]?.array ?? []).compactMap(\.object)
        let requests = recorded.map { one -> JSONObject in
            var request = one
            if request["parent"] == self.request["parent"] { request["parent"] = nil }
            if !self.isRefused {
                request["task"] = .object(LeastCreation.filled(request["task"]?.object ?? JSONObject(), of: "tasks"))
            }
            return request
        }
        var body: JSONObject = ["requests": .array(requests.map(JSONValue.object))]
        body["header"] = self.request["header"]
        return ReplayedCall(
            "POST", ["v1", "providers", provider.value, "tasks"], action: ReplayedCall.batchCreation, body: body,
            isDelivery: true, isFilled: requests.map { $0["task"] } != recorded.map { $0["task"] })
    }
}

extension JSONObject {
    /// The members as a query has them.
    fileprivate var parameters: [(name: String, value: String)] {
        self.withWholeCorners.flatMap { $0.value.parameters(named: $0.key) }
    }

    /// The object with both numbers of a viewport's corners: JSON leaves zeros out, and of an empty corner a query says nothing.
    private var withWholeCorners: JSONObject {
        guard var viewport = self["viewport"]?.object else { return self }
        for name in ["low", "high"] {
            guard var corner = viewport[name]?.object else { continue }
            for number in ["latitude", "longitude"] where corner[number] == nil { corner[number] = .integer(0) }
            viewport[name] = .object(corner)
        }
        var whole = self
        whole["viewport"] = .object(viewport)
        return whole
    }
}

extension JSONValue {
    /// The value in a query: the elements of a list one by one, and the fields of a message with a dot.
    fileprivate func parameters(named name: String) -> [(name: String, value: String)] {
        switch self {
        case .array(let elements): elements.flatMap { $0.parameters(named: name) }
        case .object(let members): members.flatMap { $0.value.parameters(named: "\(name).\($0.key)") }
        case .string(let text): [(name: name, value: text)]
        default: [(name: name, value: String(decoding: self.serialized, as: UTF8.self))]
        }
    }
}

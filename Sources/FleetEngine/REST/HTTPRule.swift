// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import HTTPTypes

/// How one RPC is called over HTTP: a row of the public API's table; an object, as each request is given one.
final class HTTPRule: Sendable {
    /// What the body of the request holds.
    enum Body: Sendable {
        /// Nothing; a body is ignored.
        case none
        /// One field of the request message.
        case field(String)
        /// The request message but for its name or parent; the query binds nothing.
        case everything
    }

    /// The RPC.
    let method: FleetMethod
    /// The verb.
    let verb: HTTPRequest.Method
    /// The path below `/v1/providers/*/`, with `*` for an id.
    let path: String
    /// The first segment of the path below `/v1/providers/*/`.
    let collection: String
    /// Whether a segment for an id follows.
    let hasID: Bool
    /// The custom verb that the path ends with, such as `:search`; empty where there is none.
    let action: String
    /// What the body holds.
    let body: Body
    /// Whether a body is read.
    var takesBody: Bool {
        if case .none = self.body { false } else { true }
    }
    /// The fields that the query binds, by their names in JSON.
    let query: [String: QueryField]
    /// What calls the RPC.
    let binding: RESTBinding

    /// Makes a row.
    init(_ method: FleetMethod, body: Body = .none, query: [String: QueryField] = [:]) {
        self.method = method
        let form = method.httpForm
        self.verb = Self.method(form.verb)
        self.path = form.path
        self.collection = form.collection
        self.hasID = form.hasID
        self.action = form.action
        self.body = body
        self.binding = .binding(for: method)
        if case .everything = body {
            self.query = [:]
        } else {
            self.query = query.merging(["header": .header]) { own, _ in own }
        }
    }

    /// The table: one row for each RPC.
    static let all: [HTTPRule] = [
        HTTPRule(.createVehicle, body: .field("vehicle"), query: ["vehicleId": .text]),
        HTTPRule(
            .getVehicle,
            query: ["currentRouteSegmentVersion": .text, "waypointsVersion": .text]
        ),
        HTTPRule(.updateVehicle, body: .field("vehicle"), query: ["updateMask": .mask]),
        HTTPRule(.updateVehicleAttributes, body: .everything),
        HTTPRule(.deleteVehicle),
        HTTPRule(
            .listVehicles,
            query: [
                "pageSize": .text, "pageToken": .text, "minimumCapacity": .text, "tripTypes": .enumerations,
                "maximumStaleness": .text, "vehicleTypeCategories": .enumerations, "requiredAttributes": .texts,
                "requiredOneOfAttributes": .texts, "requiredOneOfAttributeSets": .texts,
                "vehicleState": .enumeration, "onTripOnly": .flag, "filter": .text, "viewport": .viewport,
            ]
        ),
        HTTPRule(.searchVehicles, body: .everything),
        HTTPRule(.createTrip, body: .field("trip"), query: ["tripId": .text]),
        HTTPRule(
            .getTrip,
            query: [
                "view": .enumeration, "currentRouteSegmentVersion": .text, "remainingWaypointsVersion": .text,
                "routeFormatType": .enumeration, "currentRouteSegmentTrafficVersion": .text,
                "remainingWaypointsRouteVersion": .text,
            ]
        ),
        HTTPRule(.updateTrip, body: .field("trip"), query: ["updateMask": .mask]),
        HTTPRule(.deleteTrip),
        HTTPRule(.searchTrips, body: .everything),
        HTTPRule(.reportBillableTrip, body: .everything),
        HTTPRule(
            .createDeliveryVehicle, body: .field("deliveryVehicle"),
            query: ["deliveryVehicleId": .text]
        ),
        HTTPRule(.getDeliveryVehicle),
        HTTPRule(
            .updateDeliveryVehicle, body: .field("deliveryVehicle"),
            query: ["updateMask": .mask]
        ),
        HTTPRule(.deleteDeliveryVehicle),
        HTTPRule(
            .listDeliveryVehicles,
            query: ["pageSize": .text, "pageToken": .text, "filter": .text, "viewport": .viewport]
        ),
        HTTPRule(.createTask, body: .field("task"), query: ["taskId": .text]),
        HTTPRule(.batchCreateTasks, body: .everything),
        HTTPRule(.getTask),
        HTTPRule(.updateTask, body: .field("task"), query: ["updateMask": .mask]),
        HTTPRule(.deleteTask),
        HTTPRule(
            .listTasks, query: ["pageSize": .text, "pageToken": .text, "filter": .text]),
        HTTPRule(.getTaskTrackingInfo),
    ]

    /// The rows by collection.
    static let byCollection = Dictionary(grouping: all, by: \.collection)

    /// The verbs of the table.
    static let verbs = HTTPForm.Verb.allCases.map(HTTPRule.method)

    private static func method(_ verb: HTTPForm.Verb) -> HTTPRequest.Method {
        switch verb {
        case .get: .get
        case .post: .post
        case .put: .put
        case .patch: .patch
        case .delete: .delete
        }
    }
}

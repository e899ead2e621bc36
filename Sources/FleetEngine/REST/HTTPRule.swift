// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import HTTPTypes

/// How one RPC is called over HTTP: a row of the public API's table.
struct HTTPRule: Sendable {
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
    /// What the body holds.
    let body: Body
    /// The fields that the query binds, by their names in JSON.
    let query: [String: QueryField]

    /// Makes a row.
    init(
        _ method: FleetMethod, _ verb: HTTPRequest.Method, _ path: String, body: Body = .none,
        query: [String: QueryField] = [:]
    ) {
        self.method = method
        self.verb = verb
        self.path = path
        self.body = body
        if case .everything = body {
            self.query = [:]
        } else {
            self.query = query.merging(["header": .header]) { own, _ in own }
        }
    }

    /// The table: one row for each RPC.
    static let all: [HTTPRule] = [
        HTTPRule(.createVehicle, .post, "vehicles", body: .field("vehicle"), query: ["vehicleId": .text]),
        HTTPRule(
            .getVehicle, .get, "vehicles/*",
            query: ["currentRouteSegmentVersion": .text, "waypointsVersion": .text]
        ),
        HTTPRule(.updateVehicle, .put, "vehicles/*", body: .field("vehicle"), query: ["updateMask": .mask]),
        HTTPRule(.updateVehicleAttributes, .post, "vehicles/*:updateAttributes", body: .everything),
        HTTPRule(.deleteVehicle, .delete, "vehicles/*"),
        HTTPRule(
            .listVehicles, .get, "vehicles",
            query: [
                "pageSize": .text, "pageToken": .text, "minimumCapacity": .text, "tripTypes": .enumerations,
                "maximumStaleness": .text, "vehicleTypeCategories": .enumerations, "requiredAttributes": .texts,
                "requiredOneOfAttributes": .texts, "requiredOneOfAttributeSets": .texts,
                "vehicleState": .enumeration, "onTripOnly": .flag, "filter": .text, "viewport": .viewport,
            ]
        ),
        HTTPRule(.searchVehicles, .post, "vehicles:search", body: .everything),
        HTTPRule(.createTrip, .post, "trips", body: .field("trip"), query: ["tripId": .text]),
        HTTPRule(
            .getTrip, .get, "trips/*",
            query: [
                "view": .enumeration, "currentRouteSegmentVersion": .text, "remainingWaypointsVersion": .text,
                "routeFormatType": .enumeration, "currentRouteSegmentTrafficVersion": .text,
                "remainingWaypointsRouteVersion": .text,
            ]
        ),
        HTTPRule(.updateTrip, .put, "trips/*", body: .field("trip"), query: ["updateMask": .mask]),
        HTTPRule(.deleteTrip, .delete, "trips/*"),
        HTTPRule(.searchTrips, .post, "trips:search", body: .everything),
        HTTPRule(.reportBillableTrip, .post, "billableTrips/*:report", body: .everything),
        HTTPRule(
            .createDeliveryVehicle, .post, "deliveryVehicles", body: .field("deliveryVehicle"),
            query: ["deliveryVehicleId": .text]
        ),
        HTTPRule(.getDeliveryVehicle, .get, "deliveryVehicles/*"),
        HTTPRule(
            .updateDeliveryVehicle, .patch, "deliveryVehicles/*", body: .field("deliveryVehicle"),
            query: ["updateMask": .mask]
        ),
        HTTPRule(.deleteDeliveryVehicle, .delete, "deliveryVehicles/*"),
        HTTPRule(
            .listDeliveryVehicles, .get, "deliveryVehicles",
            query: ["pageSize": .text, "pageToken": .text, "filter": .text, "viewport": .viewport]
        ),
        HTTPRule(.createTask, .post, "tasks", body: .field("task"), query: ["taskId": .text]),
        HTTPRule(.batchCreateTasks, .post, "tasks:batchCreate", body: .everything),
        HTTPRule(.getTask, .get, "tasks/*"),
        HTTPRule(.updateTask, .patch, "tasks/*", body: .field("task"), query: ["updateMask": .mask]),
        HTTPRule(.deleteTask, .delete, "tasks/*"),
        HTTPRule(
            .listTasks, .get, "tasks", query: ["pageSize": .text, "pageToken": .text, "filter": .text]),
        HTTPRule(.getTaskTrackingInfo, .get, "taskTrackingInfo/*"),
    ]

    /// The rows by path.
    static let byPath = Dictionary(grouping: all, by: \.path)

    /// The verbs of the table.
    static let verbs: [HTTPRequest.Method] = [.get, .post, .put, .patch, .delete]
}

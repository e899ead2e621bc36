// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

extension TokenSubject {
    /// The kind in the words of the token servers' paths.
    package var kind: String {
        switch self {
        case .driver: "driver"
        case .consumer: "consumer"
        case .deliveryDriver: "delivery_driver"
        case .deliveryConsumer: "delivery_consumer"
        case .fleetReader: "fleet_reader"
        }
    }

    /// The id of the resource, or `nil` for a reader of the whole fleet.
    package var id: String? {
        switch self {
        case .driver(let id): id.value
        case .consumer(let id): id.value
        case .deliveryDriver(let id, _): id.value
        case .deliveryConsumer(let id): id.value
        case .fleetReader: nil
        }
    }

    /// The task that narrows a delivery driver's token.
    var task: TaskID? {
        if case .deliveryDriver(_, let task) = self { task } else { nil }
    }

    /// The path that both sample servers use, and the task as a query item.
    var standardRoute: TokenEndpoint.Route {
        TokenEndpoint.Route(
            segments: ["token", self.kind] + (self.id.map { [$0] } ?? []),
            query: self.task.map { [(name: "task", value: $0.value)] } ?? []
        )
    }

    /// Whether claims reach the subject's own resource and no other; a reader may have any.
    func isExactlyClaimed(by claims: AuthorizationClaims?) -> Bool {
        if self == .fleetReader { return true }
        guard let claims, claims.taskList == nil else { return false }
        let found = ClaimedIDs(
            vehicle: claims.vehicle, trip: claims.trip, deliveryVehicle: claims.deliveryVehicle, task: claims.task,
            tracking: claims.tracking)
        return switch self {
        case .driver(let id): found == ClaimedIDs(vehicle: .only(id))
        case .consumer(let id): found == ClaimedIDs(trip: .only(id))
        case .deliveryDriver(let id, let task):
            found == ClaimedIDs(deliveryVehicle: .only(id), task: task.map { .only($0) })
        case .deliveryConsumer(let id): found == ClaimedIDs(tracking: .only(id))
        case .fleetReader: true
        }
    }

    /// The claims that reach a resource, to be compared as one value; custom claims reach none.
    private struct ClaimedIDs: Hashable {
        var vehicle: Scope<VehicleID>?
        var trip: Scope<TripID>?
        var deliveryVehicle: Scope<DeliveryVehicleID>?
        var task: Scope<TaskID>?
        var tracking: Scope<TrackingID>?
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// What a token is for: the claims it carries and the role of the account that signs it.
///
/// The cases are those of the service's own token factory, plus batch task creation (JWT guide).
public enum TokenType: Hashable, Sendable {
    /// For the app of a customer who watches one trip.
    case consumer(TripID)
    /// For the app of a driver of one vehicle.
    case driver(VehicleID)
    /// For an on-demand backend: every vehicle and trip. Never for a phone.
    case server
    /// For a fleet operator's reader of both services. Never for a customer's or driver's phone.
    case fleetReader
    /// For a recipient who follows one shipment.
    case deliveryConsumer(TrackingID)
    /// For a recipient, by task; the current roles let it call no method.
    case deliveryConsumerTask(TaskID)
    /// For a delivery driver's own phone, which may only report the vehicle's location.
    case deliveryUntrustedDriver(DeliveryVehicleID)
    /// For a delivery driver's company-managed device, optionally for one task.
    case deliveryTrustedDriver(DeliveryVehicleID, task: TaskID?)
    /// For a delivery operator's reader.
    case deliveryFleetReader
    /// For a scheduled-tasks backend: every delivery vehicle, task and shipment. Never for a phone.
    case deliveryServer
    /// For creating a batch of tasks, by a scheduled-tasks backend.
    case batchTaskCreation(TaskListScope)
    /// Any claims under any role.
    case custom(Role, AuthorizationClaims)

    /// The role that the signing account must hold.
    public var role: Role {
        switch self {
        case .consumer: .consumer
        case .driver: .driver
        case .server: .server
        case .fleetReader: .fleetReader
        case .deliveryConsumer, .deliveryConsumerTask: .deliveryConsumer
        case .deliveryUntrustedDriver: .deliveryUntrustedDriver
        case .deliveryTrustedDriver: .deliveryTrustedDriver
        case .deliveryFleetReader: .deliveryFleetReader
        case .deliveryServer, .batchTaskCreation: .deliveryServer
        case .custom(let role, _): role
        }
    }

    /// The claims the token carries.
    ///
    /// - Throws: ``TokenError`` with ``TokenError/Code/invalidClaims`` for an empty batch.
    public var claims: AuthorizationClaims {
        get throws(TokenError) {
            switch self {
            case .consumer(let trip): try .init(trip: .only(trip))
            case .driver(let vehicle): try .init(vehicle: .only(vehicle))
            case .server: try .init(vehicle: .any, trip: .any)
            case .fleetReader:
                try .init(vehicle: .any, trip: .any, deliveryVehicle: .any, task: .any, tracking: .any)
            case .deliveryConsumer(let tracking): try .init(tracking: .only(tracking))
            case .deliveryConsumerTask(let task): try .init(task: .only(task))
            case .deliveryUntrustedDriver(let vehicle): try .init(deliveryVehicle: .only(vehicle))
            case .deliveryTrustedDriver(let vehicle, let task):
                try .init(deliveryVehicle: .only(vehicle), task: task.map { .only($0) })
            case .deliveryFleetReader, .deliveryServer:
                try .init(deliveryVehicle: .any, task: .any, tracking: .any)
            case .batchTaskCreation(let tasks): try .init(taskList: tasks)
            case .custom(_, let claims): claims
            }
        }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Which ids a rule's tokens may be for.
enum PolicyReach: Hashable, Sendable {
    /// What the caller is assigned to at the time.
    case assigned
    /// The ids that a claim of the caller names.
    case claim(String)
    /// These ids.
    case ids(Set<String>)
    /// What the company's own backend grants.
    case webhook
    /// Any one id.
    case any
    /// All of them in one token.
    case everything
}

/// What a token that is asked for reaches, as rules see it.
enum PolicyTarget: Hashable, Sendable {
    /// One resource, and for a trusted delivery driver perhaps one of its tasks.
    case one(AssignedResource, task: AssignedResource?)
    /// Everything of the provider.
    case everything

    /// The roles whose tokens callers can have, by rules or by their own roles.
    static let roles: [Role] = [
        .driver, .consumer, .deliveryUntrustedDriver, .deliveryTrustedDriver, .deliveryConsumer, .fleetReader,
        .deliveryFleetReader,
    ]
    /// Those of them whose tokens reach everything.
    static let readers: Set<Role> = [.fleetReader, .deliveryFleetReader]

    /// What a token reaches, or `nil` for one that no rule can grant: a server's, an administrator's, custom claims.
    init?(_ type: TokenType) {
        switch type {
        case .consumer(let trip): self = .one(.trip(trip), task: nil)
        case .driver(let vehicle): self = .one(.vehicle(vehicle), task: nil)
        case .deliveryConsumer(let tracking): self = .one(.tracking(tracking), task: nil)
        case .deliveryUntrustedDriver(let vehicle): self = .one(.deliveryVehicle(vehicle), task: nil)
        case .deliveryTrustedDriver(let vehicle, let task):
            self = .one(.deliveryVehicle(vehicle), task: task.map(AssignedResource.task))
        case .fleetReader, .deliveryFleetReader: self = .everything
        case .server, .deliveryServer, .deliveryConsumerTask, .batchTaskCreation, .custom: return nil
        }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// What `POST /v1/tokens` is asked for: a role, and the ids that tokens of the role are for.
enum TokenRequest {
    /// Every member that some role takes.
    static let members: Set<String> = ["role", "vehicle", "trip", "delivery_vehicle", "task", "tracking"]

    /// Reads a request.
    ///
    /// - Parameter body: The body.
    /// - Returns: The token that is asked for.
    /// - Throws: ``Problem`` that points to every member that is wrong.
    static func tokenType(of body: JSONObject) throws(Problem) -> TokenType {
        var members = RequestMembers(body)
        let type = members.string("role").flatMap { Self.type(Role(rawValue: $0), &members) }
        // Without a role nothing can be said of the members that some role takes.
        let isRoleWrong = members.faults.contains { $0.place == .pointer("#/role") }
        if isRoleWrong { members.pass(Self.members) }
        return try members.finish(type, known: Self.members)
    }

    private static func type(_ role: Role, _ members: inout RequestMembers) -> TokenType? {
        switch role {
        case .driver: return members.id("vehicle").map(TokenType.driver)
        case .consumer: return members.id("trip").map(TokenType.consumer)
        case .deliveryUntrustedDriver: return members.id("delivery_vehicle").map(TokenType.deliveryUntrustedDriver)
        case .deliveryTrustedDriver:
            let task: TaskID? = members.optionalID("task")
            return members.id("delivery_vehicle").map { .deliveryTrustedDriver($0, task: task) }
        case .deliveryConsumer: return members.id("tracking").map(TokenType.deliveryConsumer)
        case .fleetReader: return .fleetReader
        case .deliveryFleetReader: return .deliveryFleetReader
        default:
            let roles = PolicyTarget.roles.map(\.rawValue).joined(separator: ", ")
            let isBackend = Role.known.contains(role)
            members.refuse(
                "role",
                isBackend
                    ? "Tokens of the role \(role) are for backends, which hold credentials of their own; use \(roles)."
                    : "There is no such role; use \(roles).")
            return nil
        }
    }
}

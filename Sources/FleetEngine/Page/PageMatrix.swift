// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// The permission matrix as the page draws it, from the table that decides.
struct PageMatrix: Encodable {
    struct Column: Encodable {
        let role: String
        let iam: String?
        let permissions: [String]
    }

    struct Row: Encodable {
        let method: String
        let isDelivery: Bool
        /// The masked fields that the row is for: `nil` for every call, empty for all that other rows do not list.
        let fields: [String]?
        let permissions: [String]
        let claim: String
        let requirement: String
        /// Roles that hold the permissions.
        let roles: [String]
        /// Roles among them that need no claim.
        let rolesWithoutClaims: [String]
    }

    let roles: [Column]
    let rows: [Row]

    init() {
        self.roles = Role.known.map {
            Column(role: $0.rawValue, iam: $0.iamRole, permissions: $0.permissions.map(\.rawValue).sorted())
        }
        self.rows = AccessRule.matrix.map { rule in
            let holders = Role.known.filter { rule.permissions.isSubset(of: $0.permissions) }
            return Row(
                method: rule.method.name,
                isDelivery: rule.method.isDelivery,
                fields: Self.fields(rule.fields),
                permissions: rule.permissions.map(\.rawValue).sorted(),
                claim: rule.claim.rawValue,
                requirement: rule.claim.requirement,
                roles: holders.map(\.rawValue),
                rolesWithoutClaims: holders.filter { Self.needsNoClaims($0, for: rule) }.map(\.rawValue)
            )
        }
    }

    private static func fields(_ fields: AccessRule.Fields) -> [String]? {
        switch fields {
        case .all: nil
        case .only(let names): names.sorted()
        case .others: []
        }
    }

    /// Asks the rules themselves: a role that may make the call without any claims needs none.
    private static func needsNoClaims(_ role: Role, for rule: AccessRule) -> Bool {
        guard let provider = ProviderID("any") else { return false }
        let mask =
            switch rule.fields {
            case .all: [String]()
            case .only(let names): Array(names)
            case .others: ["some_other_field"]
            }
        let request = AccessRequest(method: rule.method, provider: provider, maskedFields: mask)
        return (try? request.checkCoverage(of: nil, role: role)) != nil
    }
}

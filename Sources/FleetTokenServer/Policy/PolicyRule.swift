// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// One rule: which callers get which tokens, and for which ids.
struct PolicyRule: Sendable {
    /// Which callers a rule is for; what is `nil` is not looked at.
    struct Condition: Sendable {
        var issuers: Set<ExactText>?
        var subjects: Set<ExactText>?
        var roles: Set<Role>?
        /// For each claim the values of which it must have one.
        var claims: [String: Set<ExactText>] = [:]

        /// Whether it is for every caller.
        var isEmpty: Bool {
            self.issuers == nil && self.subjects == nil && self.roles == nil && self.claims.isEmpty
        }

        /// Whether everything that is asked holds.
        func matches(_ caller: Caller) -> Bool {
            (self.issuers.map { $0.contains(ExactText(caller.issuer)) } ?? true)
                && (self.subjects.map { $0.contains(ExactText(caller.subject)) } ?? true)
                && (self.roles.map { !$0.isDisjoint(with: caller.roles) } ?? true)
                && self.claims.allSatisfy { name, values in
                    caller.values(ofClaim: name)?.contains { values.contains(ExactText($0)) } ?? false
                }
        }
    }

    let name: String
    let condition: Condition
    let grants: Set<Role>
    let reach: PolicyReach
    /// Which tasks a trusted delivery driver's token may name; `nil` for none.
    let tasks: PolicyReach?
}

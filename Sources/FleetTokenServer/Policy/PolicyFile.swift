// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning
import FleetTokens

/// A policy file as it is read: the rules, and where the webhook is.
struct PolicyFile: Sendable {
    /// The webhook's settings; its secret is no part of the file.
    struct Webhook: Sendable {
        let url: String
        let timeout: Duration
        let cache: Duration
    }

    /// A text that a rule asks of its callers; only the authenticators tell whether any has it.
    struct Demand: Sendable {
        let text: String
        /// What is wrong where no caller has it, with the rule's place.
        let fault: TokenServerError
    }

    let rules: [PolicyRule]
    /// The issuers that rules are for.
    let issuers: [Demand]
    /// The callers' roles that rules are for.
    let roles: [Demand]
    let webhook: Webhook?

    /// Reads a file; anything in it that is not understood is an error.
    ///
    /// - Parameters:
    ///   - yaml: The file's text.
    ///   - name: Its name for messages.
    /// - Throws: ``TokenServerError`` with the line and column.
    init(yaml: String, name: String) throws(TokenServerError) {
        do throws(ConfigurationError) {
            try self.init(YAMLNode(yaml: yaml, file: name))
        } catch {
            throw TokenServerError(error)
        }
    }

    private init(_ root: YAMLNode) throws(ConfigurationError) {
        let members = try root.mapping(["version", "webhook", "rules"], of: "the policy")
        guard let version = members["version"] else { throw root.error("the policy has no version; write: version: 1") }
        guard try version.string("the version") == "1" else { throw version.error("the version must be 1.") }
        guard let list = members["rules"] else { throw root.error("the policy has no rules, so it grants nothing.") }
        var rules: [PolicyRule] = []
        var issuers: [Demand] = []
        var roles: [Demand] = []
        for node in try list.list("the rules") {
            let rule = try Self.rule(node)
            guard !rules.contains(where: { $0.name == rule.name }) else {
                throw node.error("two rules have the name \"\(rule.name)\".")
            }
            guard members["webhook"] != nil || (rule.reach != .webhook && rule.tasks != .webhook) else {
                throw node.error("the rule \"\(rule.name)\" asks a webhook, and the policy names none.")
            }
            rules.append(rule)
            issuers += try Self.demands(of: node, for: "issuer", unmet: "no caller is of the issuer")
            roles += try Self.demands(of: node, for: "roles", unmet: "no caller has the role")
        }
        self.rules = rules
        self.issuers = issuers
        self.roles = roles
        if let node = members["webhook"] { self.webhook = try Self.webhook(node) } else { self.webhook = nil }
    }

    private static func webhook(_ node: YAMLNode) throws(ConfigurationError) -> Webhook {
        let members = try node.mapping(["url", "timeout", "cache"], of: "the webhook")
        guard let address = members["url"] else { throw node.error("the webhook has no url.") }
        let url = try address.string("the url")
        guard UpstreamAddress.isAcceptable(url) else { throw address.error("the url must be \(UpstreamAddress.rule).") }
        return Webhook(
            url: url,
            timeout: try members["timeout"]?.duration("the timeout", in: .milliseconds(100) ... .seconds(30))
                ?? .seconds(2),
            cache: try members["cache"]?.duration("the cache", in: .zero ... .seconds(300)) ?? .seconds(30)
        )
    }

    private static func rule(_ node: YAMLNode) throws(ConfigurationError) -> PolicyRule {
        let members = try node.mapping(["name", "when", "grant", "for", "task"], of: "a rule")
        guard let named = members["name"] else { throw node.error("a rule has no name.") }
        let name = try named.string("the name")
        guard name.unicodeScalars.count <= 100, !name.unicodeScalars.contains(where: { $0.value < 0x20 }) else {
            throw named.error("the name must be one line of at most 100 characters.")
        }
        guard let when = members["when"] else {
            throw node.error(
                "the rule \"\(name)\" does not say when; write when: any_caller if it is for every caller.")
        }
        guard let grant = members["grant"] else { throw node.error("the rule \"\(name)\" grants nothing.") }
        guard let reach = members["for"] else {
            throw node.error("the rule \"\(name)\" does not say for which ids; write for: assigned, or another.")
        }
        let rule = PolicyRule(
            name: name, condition: try Self.condition(when), grants: try Self.roles(grant),
            reach: try Self.reach(reach),
            tasks: try members["task"].map { node throws(ConfigurationError) in try Self.reach(node) })
        try Self.check(rule, at: node)
        return rule
    }

    /// What a rule that was read asks of its callers under a key of `when`.
    ///
    /// - Parameters:
    ///   - rule: The rule.
    ///   - key: The key.
    ///   - problem: What is wrong where no caller has one of the key's texts.
    /// - Returns: The texts.
    /// - Throws: ``ConfigurationError`` with the line and column.
    private static func demands(
        of rule: YAMLNode, for key: String, unmet problem: String
    ) throws(ConfigurationError) -> [Demand] {
        guard let when = try rule.mapping(nil, of: "a rule")["when"], !when.isText,
            let node = try when.mapping(nil, of: "when")[key]
        else { return [] }
        return try node.strings(key).map { text in
            Demand(text: text, fault: TokenServerError(node.error("\(problem) \"\(text.prefix(64))\".")))
        }
    }

    /// Refuses what reads like one thing and would do another.
    private static func check(_ rule: PolicyRule, at node: YAMLNode) throws(ConfigurationError) {
        let readers = rule.grants.intersection(PolicyTarget.readers)
        guard readers.isEmpty || (readers == rule.grants && rule.reach == .everything) else {
            throw node.error(
                "the rule \"\(rule.name)\" grants a reader's token, which reaches everything; give it a rule of its own "
                    + "with for: everything.")
        }
        guard rule.reach != .everything || !readers.isEmpty else {
            throw node.error("for: everything is for fleet_reader and delivery_fleet_reader alone.")
        }
        let isUnlimited = rule.reach == .any || rule.reach == .everything || rule.tasks == .any
        guard !isUnlimited || !rule.condition.isEmpty else {
            throw node.error("the rule \"\(rule.name)\" would give every caller every id; say when it is for.")
        }
        guard rule.tasks == nil || rule.grants == [.deliveryTrustedDriver] else {
            throw node.error("task: is for delivery_trusted_driver alone.")
        }
        guard rule.tasks != .everything else { throw node.error("a token for every task is no driver's.") }
    }

    private static func roles(_ node: YAMLNode) throws(ConfigurationError) -> Set<Role> {
        var roles: Set<Role> = []
        for text in try node.strings("grant") {
            let role = Role(rawValue: text)
            guard PolicyTarget.roles.contains(role) else {
                throw node.error(
                    "no rule can grant \"\(text.prefix(64))\"; there are "
                        + "\(PolicyTarget.roles.map(\.rawValue).joined(separator: ", ")).")
            }
            roles.insert(role)
        }
        return roles
    }

    private static func reach(_ node: YAMLNode) throws(ConfigurationError) -> PolicyReach {
        if node.isText {
            switch try node.string("for") {
            case "assigned": return .assigned
            case "webhook": return .webhook
            case "any": return .any
            case "everything": return .everything
            default: break
            }
        } else {
            let members = try node.mapping(["claim", "ids"], of: "for")
            if members.count == 1, let claim = members["claim"] { return .claim(try claim.string("the claim")) }
            if members.count == 1, let ids = members["ids"] { return .ids(try Self.ids(ids)) }
        }
        throw node.error("for must be assigned, webhook, any, everything, {claim: NAME} or {ids: [ID]}.")
    }

    private static func ids(_ node: YAMLNode) throws(ConfigurationError) -> Set<String> {
        var ids: Set<String> = []
        for text in try node.strings("ids") {
            do {
                // All kinds of ids have one syntax.
                ids.insert(try VehicleID(checking: text).value)
            } catch {
                throw node.error("\"\(text.prefix(64))\" cannot be an id. \(error.message)")
            }
        }
        return ids
    }

    private static func condition(_ node: YAMLNode) throws(ConfigurationError) -> PolicyRule.Condition {
        var condition = PolicyRule.Condition()
        if node.isText {
            guard try node.string("when") == "any_caller" else {
                throw node.error("when must be any_caller, or keys with values.")
            }
            return condition
        }
        let members = try node.mapping(["issuer", "subject", "roles", "claims"], of: "when")
        guard !members.isEmpty else {
            throw node.error("when is empty; write when: any_caller if you mean every caller.")
        }
        if let issuers = members["issuer"] { condition.issuers = try Self.texts(issuers, "issuer") }
        if let subjects = members["subject"] {
            guard condition.issuers != nil else {
                throw subjects.error("a subject is only one user together with the issuer; name the issuer too.")
            }
            condition.subjects = try Self.texts(subjects, "subject")
        }
        if let roles = members["roles"] {
            condition.roles = Set(try roles.strings("roles").map(Role.init(rawValue:)))
        }
        if let claims = members["claims"] {
            for (name, values) in try claims.mapping(nil, of: "claims") {
                condition.claims[name] = try Self.texts(values, "the claim \(name.prefix(64))")
            }
            guard !condition.claims.isEmpty else { throw claims.error("claims is empty.") }
        }
        return condition
    }

    /// The texts of a value, to be compared with what callers say.
    private static func texts(_ node: YAMLNode, _ what: String) throws(ConfigurationError) -> Set<ExactText> {
        Set(try node.strings(what).map(ExactText.init))
    }
}

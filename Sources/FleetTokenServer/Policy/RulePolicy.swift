// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetSigning
public import FleetTokens
public import Foundation

/// Grants what the rules of a policy file grant, and nothing else.
///
/// The rules are asked in order; the first that grants decides. The file's form is described in `docs/policy.md`.
public struct RulePolicy: TokenPolicy {
    /// What a policy with a webhook needs besides its file.
    public struct WebhookAccess: Sendable {
        /// The secret that requests are signed with.
        public var secret: SharedSecret
        /// Sends the requests.
        public var transport: any UpstreamTransport

        /// Describes the access.
        public init(secret: SharedSecret, transport: any UpstreamTransport) {
            self.secret = secret
            self.transport = transport
        }
    }

    private let rules: [PolicyRule]
    private let issuers: [PolicyFile.Demand]
    private let roles: [PolicyFile.Demand]
    private let assignments: any AssignmentStore
    private let webhook: PolicyWebhook?

    /// Reads a policy file.
    ///
    /// - Parameters:
    ///   - yaml: The file's text.
    ///   - file: The file's name for messages.
    ///   - assignments: Knows who holds what.
    ///   - webhook: Needed where the file names a webhook.
    ///   - clock: What the age of the webhook's answers is counted on.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``, line and column.
    public init(
        yaml: String, file: String = "policy", assignments: any AssignmentStore, webhook: WebhookAccess? = nil,
        clock: some Clock<Duration> = ContinuousClock()
    ) throws(TokenServerError) {
        let policy = try PolicyFile(yaml: yaml, name: file)
        self.rules = policy.rules
        self.issuers = policy.issuers
        self.roles = policy.roles
        self.assignments = assignments
        guard let settings = policy.webhook else {
            self.webhook = nil
            return
        }
        guard let webhook else {
            throw TokenServerError(
                code: .invalidConfiguration,
                message:
                    "\(file): the policy names a webhook, and there is no secret to sign its requests with; name the "
                    + "file of one with the setting policy.secret_file.")
        }
        self.webhook = PolicyWebhook(
            settings, secret: webhook.secret, transport: webhook.transport, time: TimeSource(clock: clock))
    }

    /// Shows among a server's metrics how the webhook answered, where there is one.
    func report(to metrics: TokenServerMetrics) {
        if let webhook = self.webhook { metrics.show(webhook) }
    }

    /// The roles that rules grant, each with the rules that do.
    var grants: [Role: [String]] {
        self.rules.reduce(into: [:]) { grants, rule in
            for role in rule.grants { grants[role, default: []].append("the rule \(rule.name)") }
        }
    }

    /// Refuses a rule for an issuer or a role that no caller has.
    ///
    /// - Parameters:
    ///   - issuers: The labels of the authenticators.
    ///   - roles: The roles that they give callers.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``, line and column.
    func check(issuers: [String], roles: [Role]) throws(TokenServerError) {
        if let fault = Self.fault(of: self.issuers, among: issuers.sorted()) { throw fault }
        if var fault = Self.fault(of: self.roles, among: roles.map(\.rawValue)) {
            fault.message += " What a login says of its users goes under claims."
            throw fault
        }
    }

    /// What is wrong with the first text that is not one of those that there are.
    private static func fault(of demands: [PolicyFile.Demand], among texts: [String]) -> TokenServerError? {
        let known = Set(texts.map(ExactText.init))
        guard var fault = demands.first(where: { !known.contains(ExactText($0.text)) })?.fault else { return nil }
        fault.message += " There are \(texts.joined(separator: ", "))."
        return fault
    }

    /// Asks the webhook for an id that nobody has and a caller that there is not; whatever it answers grants nothing.
    ///
    /// - Parameter time: The time.
    /// - Returns: Whether any rule asks the webhook; otherwise it is not asked here either.
    /// - Throws: ``PolicyUnavailable`` when there is no answer that counts; `CancellationError`.
    package func tryWebhook(at time: Date) async throws -> Bool {
        guard let webhook, let rule = self.rules.first(where: { $0.reach == .webhook || $0.tasks == .webhook }),
            let role = rule.grants.min(by: { $0.rawValue < $1.rawValue })
        else { return false }
        let id = "fleetpass-canary"
        let type: TokenType =
            switch role {
            case .consumer: .consumer(try TripID(checking: id))
            case .deliveryConsumer: .deliveryConsumer(try TrackingID(checking: id))
            case .deliveryUntrustedDriver: .deliveryUntrustedDriver(try DeliveryVehicleID(checking: id))
            case .deliveryTrustedDriver:
                try .deliveryTrustedDriver(
                    DeliveryVehicleID(checking: id), task: rule.tasks == nil ? nil : TaskID(checking: id))
            default: .driver(try VehicleID(checking: id))
            }
        let nobody = Caller(name: "fleetpass-doctor", issuer: "fleetpass-doctor")
        _ = try await webhook.grants(type, to: nobody, rule: rule.name, at: time)
        return true
    }

    /// Decides by the first rule that grants; without one, names the first that came close.
    public func decide(_ type: TokenType, for caller: Caller, at time: Date) async throws -> PolicyDecision {
        guard let target = PolicyTarget(type) else {
            return .refused(rule: nil, reason: "No rule can grant such a token of the role \(type.role).")
        }
        let question = Question(type: type, target: target, caller: caller, time: time)
        var refusal: PolicyDecision?
        var failure: (any Error)?
        for rule in self.rules where rule.grants.contains(type.role) && rule.condition.matches(caller) {
            do {
                guard let reason = try await self.objection(of: rule, to: question) else {
                    return .granted(rule: rule.name)
                }
                refusal = refusal ?? .refused(rule: rule.name, reason: reason)
            } catch let error as CancellationError {
                throw error
            } catch {
                // What one rule cannot find out, a later one may grant without.
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return refusal
            ?? .refused(rule: nil, reason: "No rule grants this caller a token of the role \(type.role).")
    }

    private struct Question {
        let type: TokenType
        let target: PolicyTarget
        let caller: Caller
        let time: Date
    }

    /// Why a rule does not grant a token, or `nil` when it does.
    private func objection(of rule: PolicyRule, to question: Question) async throws -> String? {
        switch question.target {
        case .everything:
            return rule.reach == .everything ? nil : "The rule does not reach everything."
        case .one(let resource, let task):
            if let objection = try await self.objection(of: rule, reaching: rule.reach, resource, question) {
                return objection
            }
            guard let task else { return nil }
            guard let tasks = rule.tasks else { return "The rule grants no token for a task." }
            return try await self.objection(of: rule, reaching: tasks, task, question)
        }
    }

    private func objection(
        of rule: PolicyRule, reaching reach: PolicyReach, _ resource: AssignedResource, _ question: Question
    ) async throws -> String? {
        let what = "\(resource.kind) \(resource.id)"
        switch reach {
        case .any: return nil
        case .everything: return "The rule is for tokens that reach everything."
        case .ids(let ids): return ids.contains(resource.id) ? nil : "The rule does not list the \(what)."
        case .claim(let name):
            let values = question.caller.values(ofClaim: name) ?? []
            // In the id's own spelling: one that only looks like it may be another user's to choose.
            let isNamed = values.contains { ExactText($0) == ExactText(resource.id) }
            return isNamed ? nil : "The caller's claim \(name) does not name the \(what)."
        case .assigned:
            let isAssigned = try await self.assignments.isAssigned(
                resource, to: question.caller.id, at: question.time)
            return isAssigned ? nil : "The \(what) is not assigned to the caller now."
        case .webhook:
            guard let webhook = self.webhook else { return "There is no webhook." }
            let isGranted = try await webhook.grants(
                question.type, to: question.caller, rule: rule.name, at: question.time)
            return isGranted ? nil : "The webhook refused the \(what)."
        }
    }
}

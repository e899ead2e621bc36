// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
public import FleetSigning
import FleetTokens

/// Counts what a token server does, for Prometheus.
///
/// Every label's values are few and known beforehand: no caller, id or address is among them.
public final class TokenServerMetrics: Sendable {
    /// What became of a request for a token.
    enum Outcome: String {
        case granted, unauthenticated, refused, limited, failed
    }

    private struct State {
        var requests = MetricFamily(
            "fleetpass_token_requests_total", .counter, labels: ["role", "outcome"],
            help: "Requests for a token by its role and what became of them.")
        var refusals = MetricFamily(
            "fleetpass_token_refusals_total", .counter, labels: ["reason"],
            help: "Requests that got no token, by reason.")
        var duration = LatencyHistogram(
            "fleetpass_token_request_duration_seconds", label: "outcome",
            help: "How long a request for a token took, from when it was there as a whole to the answer.")
        var canary = MetricFamily(
            "fleetpass_canary_up", .gauge, labels: ["role"],
            help: "Whether the last trial token of the role could be made and verified.")
        var readiness = MetricFamily(
            "fleetpass_ready", .gauge, labels: ["check"], help: "Whether each part of readiness holds.")
        var revocations = RevocationMetrics()
        var sources: [@Sendable () -> [MetricFamily]] = []
    }

    private let state = Locked(State())

    /// Makes counters at zero.
    public init() {}

    /// Everything in the Prometheus text format.
    public var text: String {
        let (own, sources) = self.state.withLock { state in
            (
                state.requests.text + state.refusals.text + state.duration.text + state.canary.text
                    + state.readiness.text + state.revocations.text,
                state.sources
            )
        }
        return own + sources.flatMap { $0() }.map(\.text).joined()
    }

    /// Shows further numbers, which are asked for each time.
    func add(_ source: @escaping @Sendable () -> [MetricFamily]) {
        self.state.withLock { $0.sources.append(source) }
    }

    func granted(_ role: Role, took duration: Duration) {
        self.count(.granted, role, duration)
    }

    func refused(_ role: Role, _ refusal: TokenDeskRefusal, took duration: Duration) {
        self.count(refusal.outcome, role, duration)
        self.state.withLock { $0.refusals.add(1, refusal.label) }
    }

    /// Counts a request that was turned away before it was known what it asks for.
    func turnedAway() {
        self.state.withLock { state in
            state.requests.add(1, "unread", Outcome.limited.rawValue)
            state.refusals.add(1, "limit_pending")
        }
    }

    func canary(of role: Role, isUp: Bool) {
        self.state.withLock { $0.canary.set(isUp ? 1 : 0, Self.label(role)) }
    }

    func readiness(of check: Readiness.Check, holds: Bool) {
        self.state.withLock { $0.readiness.set(holds ? 1 : 0, check.rawValue) }
    }

    /// Counts a look at the list of revocations that is followed.
    ///
    /// - Parameters:
    ///   - outcome: What became of it.
    ///   - age: How long ago the list in force was made, if there is one.
    public func revocationPoll(_ outcome: RevocationFollower.Outcome, age: Duration?) {
        self.state.withLock { $0.revocations.note(outcome, age: age) }
    }

    private func count(_ outcome: Outcome, _ role: Role, _ duration: Duration) {
        self.state.withLock { state in
            state.requests.add(1, Self.label(role), outcome.rawValue)
            state.duration.observe(duration, outcome.rawValue)
        }
    }

    private static func label(_ role: Role) -> String {
        Role.known.contains(role) ? role.rawValue : "other"
    }
}

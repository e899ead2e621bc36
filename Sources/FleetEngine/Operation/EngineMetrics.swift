// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
public import FleetSigning
import FleetTokens

/// Counts what an engine does, for Prometheus.
///
/// Every label's values are few and known beforehand: no provider, id or address is among them.
public final class EngineMetrics: Sendable {
    private struct Outcome: Hashable {
        let method: FleetMethod
        /// `nil` for success.
        let code: EngineError.Code?
    }

    private struct State {
        var calls: [Outcome: UInt64] = [:]
        var refusals: [String: UInt64] = [:]
        var duration = LatencyHistogram(
            "fleetpass_engine_call_duration_seconds", label: "method",
            help: "How long a call took, from its token to its answer.")
        var readiness = MetricFamily(
            "fleetpass_ready", .gauge, labels: ["check"], help: "Whether each part of readiness holds.")
        var revocations = RevocationMetrics()
        var keys = MetricFamily(
            "fleetpass_trusted_keys_age_seconds", .gauge,
            help: "How long ago the keys of trusted accounts were fetched that were fetched longest ago.")
    }

    private let state = Locked(State())

    /// Makes counters at zero.
    public init() {}

    /// Everything in the Prometheus text format.
    ///
    /// - Parameter alone: Whether no token server's numbers stand beside it, which tells readiness and revocations too.
    /// - Returns: One line for each number, with help and type before each name.
    public func text(alone: Bool = true) -> String {
        let state = self.state.withLock { $0 }
        var calls = MetricFamily(
            "fleetpass_engine_calls_total", .counter, labels: ["method", "code"],
            help: "Calls by method and status code.")
        for (outcome, count) in state.calls {
            calls.set(Double(count), outcome.method.name, outcome.code?.rawValue ?? "OK")
        }
        var refusals = MetricFamily(
            "fleetpass_engine_refusals_total", .counter, labels: ["reason"],
            help: "Calls that were refused for their token, by reason.")
        for (reason, count) in state.refusals { refusals.set(Double(count), reason) }
        let own = calls.text + refusals.text + state.duration.text
        return alone ? own + state.readiness.text + state.revocations.text + state.keys.text : own + state.keys.text
    }

    /// Shows how long ago the keys of trusted accounts were fetched that were fetched longest ago.
    package func trustedKeys(age: Duration) {
        self.state.withLock { $0.keys.set((age / .seconds(1)).rounded()) }
    }

    /// Shows whether each part of readiness holds.
    package func readiness(_ holds: [String: Bool]) {
        self.state.withLock { state in
            for (check, holds) in holds { state.readiness.set(holds ? 1 : 0, check) }
        }
    }

    /// Counts a look at the list of revocations that is followed.
    ///
    /// - Parameters:
    ///   - outcome: What became of it.
    ///   - age: How long ago the list in force was made, if there is one.
    public func revocationPoll(_ outcome: RevocationFollower.Outcome, age: Duration?) {
        self.state.withLock { $0.revocations.note(outcome, age: age) }
    }

    func answered(_ method: FleetMethod, _ error: EngineError?, took duration: Duration) {
        self.state.withLock { state in
            state.calls[Outcome(method: method, code: error?.code), default: 0] += 1
            state.duration.observe(duration, method.name)
            if let error, error.code == .permissionDenied || error.isOfStranger {
                state.refusals[error.reason, default: 0] += 1
            }
        }
    }
}

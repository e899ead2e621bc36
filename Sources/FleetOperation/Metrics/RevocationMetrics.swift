// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetSigning

/// Counts looks at another server's list of revocations.
package struct RevocationMetrics: Sendable {
    private var polls = MetricFamily(
        "fleetpass_revocation_polls_total", .counter, labels: ["outcome"],
        help: "Looks at the list of revocations that is followed, by what became of them.")
    private var age = MetricFamily(
        "fleetpass_revocation_list_age_seconds", .gauge,
        help: "How long ago the list of revocations in force was made.")

    /// Starts at none.
    package init() {}

    /// Both numbers in the Prometheus text format.
    package var text: String { self.polls.text + self.age.text }

    /// Counts a look.
    ///
    /// - Parameters:
    ///   - outcome: What became of it.
    ///   - age: How long ago the list in force was made, if there is one.
    package mutating func note(_ outcome: RevocationFollower.Outcome, age: Duration?) {
        let label =
            switch outcome {
            case .applied: "applied"
            case .unchanged: "unchanged"
            case .failed: "failed"
            }
        self.polls.add(1, label)
        if let age { self.age.set((age / .seconds(1)).rounded()) }
    }
}

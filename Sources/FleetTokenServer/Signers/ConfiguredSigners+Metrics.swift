// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning
import FleetTokens
import GoogleCredentials

extension ConfiguredSigners {
    /// Shows signers, access tokens and budget among a server's metrics.
    ///
    /// - Parameter metrics: The server's metrics.
    public func report(to metrics: TokenServerMetrics) {
        metrics.add { self.families }
    }

    private var families: [MetricFamily] {
        var calls = MetricFamily(
            "fleetpass_signer_calls_total", .counter, labels: ["role", "way", "outcome"],
            help: "Signatures that each way of a role was asked for, and whether it gave them.")
        var open = MetricFamily(
            "fleetpass_signer_passed_over", .gauge, labels: ["role", "way"],
            help: "Whether a way of a role failed lately and is passed over.")
        for (role, rungs) in self.statistics {
            for (way, rung) in rungs {
                calls.add(Double(rung.attempts - rung.failures), role.rawValue, way, "signed")
                calls.add(Double(rung.failures), role.rawValue, way, "failed")
                open.set(rung.isPassedOver ? 1 : 0, role.rawValue, way)
            }
        }
        guard self.needsGoogle else { return [calls, open] }
        return [calls, open] + self.googleFamilies
    }

    private var googleFamilies: [MetricFamily] {
        var accessTokens = CacheFamilies(
            "fleetpass_access_token", uses: "Access tokens taken from memory, and those that had to be waited for.",
            fetches: "Fetches of access tokens and what came of them.")
        accessTokens.add(self.identity.statistics ?? CacheStatistics())
        let budget = self.identity.budget
        var remaining = MetricFamily(
            "fleetpass_signing_budget_remaining", .gauge, help: "IAM signing calls left in the present minute.")
        remaining.set(Double(budget.remaining))
        var allowed = MetricFamily(
            "fleetpass_signing_budget_calls_per_minute", .gauge, help: "IAM signing calls allowed in any minute.")
        allowed.set(Double(budget.callsPerMinute))
        var low = MetricFamily(
            "fleetpass_signing_budget_low", .gauge,
            help: "Whether few calls are left, so that refresh_after is spread wider.")
        low.set(budget.isLow ? 1 : 0)
        return accessTokens.all + [remaining, allowed, low]
    }
}

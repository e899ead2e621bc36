// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning
import FleetTokens

extension TokenServerMetrics {
    /// Shows how often identity providers' keys were at hand, and fetched.
    ///
    /// - Parameter sets: The keys of each provider, by the provider's label.
    func show(identityKeys sets: [(provider: String, keys: RemoteKeySet<UserTokenKeySet>)]) {
        guard !sets.isEmpty else { return }
        self.add {
            var uses = MetricFamily(
                "fleetpass_identity_key_uses_total", .counter, labels: ["provider", "result"],
                help: "Users' tokens whose key was at hand, and those that waited for a fetch of the keys.")
            var fetches = MetricFamily(
                "fleetpass_identity_key_fetches_total", .counter, labels: ["provider", "outcome"],
                help: "Fetches of identity providers' keys and what came of them.")
            for (provider, keys) in sets {
                let counts = keys.statistics
                uses.add(Double(counts.hits), provider, "hit")
                uses.add(Double(counts.misses), provider, "miss")
                fetches.add(Double(counts.fetches - counts.failures), provider, "fetched")
                fetches.add(Double(counts.failures), provider, "failed")
            }
            return [uses, fetches]
        }
    }

    /// Shows how a policy's webhook answered.
    func show(_ webhook: PolicyWebhook) {
        self.add {
            let counts = webhook.statistics
            var answers = MetricFamily(
                "fleetpass_policy_webhook_answers_total", .counter, labels: ["outcome"],
                help: "Questions for the policy's webhook: answered by what was kept, or what it said.")
            answers.add(Double(counts.kept), "kept")
            answers.add(Double(counts.granted), "granted")
            answers.add(Double(counts.refused), "refused")
            answers.add(Double(counts.failed), "failed")
            return [answers]
        }
    }
}

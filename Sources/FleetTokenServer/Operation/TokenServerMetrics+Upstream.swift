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
            var families = CacheFamilies(
                "fleetpass_identity_key", labels: ["provider"],
                uses: "Users' tokens whose key was at hand, and those that waited for a fetch of the keys.",
                fetches: "Fetches of identity providers' keys and what came of them.")
            for (provider, keys) in sets { families.add(keys.statistics, provider) }
            return families.all
        }
    }

    /// Shows how often tokens that several callers share were at hand, and signed.
    ///
    /// - Parameters:
    ///   - keys: The keys of a folder, where there is one.
    ///   - signers: The signers of the other roles, where there are any.
    package func show(sharedTokensOf keys: SigningKeys?, _ signers: ConfiguredSigners?) {
        self.add {
            var families = CacheFamilies(
                "fleetpass_shared_token", labels: ["role"],
                uses: "Requests for tokens that several callers share: at hand, or waited for until signed.",
                fetches: "Signatures of tokens that several callers share, and what came of them.")
            for (role, counts) in keys?.sharedTokens ?? [:] { families.add(counts, role.rawValue) }
            for (role, counts) in signers?.sharedTokens ?? [:] { families.add(counts, role.rawValue) }
            return families.all
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

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// A rule of the documentation that is not kept.
struct PageRule: Encodable, Hashable, Sendable {
    let id: String
    let what: String
    let why: String
    let fix: String
    let source: String
    let isRefusedInStrict: Bool
    /// In how many calls it was broken, those included of which no finding is shown or kept.
    let count: Int

    init(_ rule: DeviationRule, count: Int) {
        self.id = rule.id
        self.what = rule.what
        self.why = rule.why
        self.fix = rule.fix
        self.source = rule.source
        self.isRefusedInStrict = rule.inStrict == .refused
        self.count = count
    }

    /// The rules that were broken at a provider, by id.
    static func all(in log: DeviationLog, of provider: ProviderID) -> [String: PageRule] {
        let rules = log.totals(of: provider).map { PageRule($0.key.rule, count: $0.value) }
        return Dictionary(rules.map { ($0.id, $0) }) { first, _ in first }
    }
}

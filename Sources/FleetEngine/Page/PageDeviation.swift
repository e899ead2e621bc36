// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

/// One subject that does not keep a rule; it holds no token.
struct PageDeviation: Encodable, Hashable, Sendable {
    let id: String
    /// The id of a ``PageRule``.
    let rule: String
    let subject: PageSubject
    let count: Int
    let first: Int64
    let last: Int64
    let method: String
    let role: String?
    let fingerprint: String?

    /// How findings are named among the kinds of which there are more than are shown.
    static let collection = "deviation"

    /// The findings of each rule that were seen last; no rule takes the place of another's.
    ///
    /// - Parameters:
    ///   - limit: How many there are at most, of all rules together.
    ///   - log: What the engine noted.
    ///   - provider: Whose findings.
    /// - Returns: The findings by id, and whether there were more.
    static func latest(
        _ limit: Int, in log: DeviationLog, of provider: ProviderID
    ) -> (shown: [String: PageDeviation], areMore: Bool) {
        var counts: [Deviation: Int] = [:]
        var ranked: [(rank: Int, finding: DeviationFinding)] = []
        for finding in log.all where finding.provider == provider {
            let rank = counts[finding.deviation, default: 0]
            ranked.append((rank: rank, finding: finding))
            counts[finding.deviation] = rank + 1
        }
        let chosen = ranked.sorted { ($0.rank, $1.finding.lastSeen) < ($1.rank, $0.finding.lastSeen) }.prefix(limit)
        var shown: [String: PageDeviation] = [:]
        for (_, finding) in chosen {
            let entry = PageDeviation(finding)
            shown[entry.id] = entry
        }
        // The log has forgotten some, too, where calls were counted that no finding tells of.
        let told = chosen.reduce(0) { $0 + $1.finding.count }
        return (shown, told < log.totals(of: provider).values.reduce(0, +))
    }

    init(_ finding: DeviationFinding) {
        let rule = finding.deviation.rule
        self.id = "\(rule.id)/\(finding.subject.kind.rawValue)/\(finding.subject.id)"
        self.rule = rule.id
        self.subject = PageSubject(finding.subject)
        self.count = finding.count
        self.first = finding.firstSeen.milliseconds
        self.last = finding.lastSeen.milliseconds
        self.method = finding.example.method.name
        self.role = finding.example.role?.rawValue
        self.fingerprint = finding.example.fingerprint
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

/// The record behind ``DeviationWatch``: a finding for each rule and subject, bounded.
struct DeviationLog: Sendable {
    private struct Key: Hashable {
        let deviation: Deviation
        let subject: EngineActivity.Subject
        let provider: ProviderID
    }

    private let capacity: Int
    private var findings: [Key: DeviationFinding] = [:]
    /// How often each rule was broken at each provider, those findings included that were forgotten.
    private var counts: [ProviderID: [Deviation: Int]] = [:]

    init(maximumFindings: Int) {
        self.capacity = max(1, maximumFindings)
    }

    /// The findings, the last seen first.
    var all: [DeviationFinding] { self.findings.values.sorted { $0.lastSeen > $1.lastSeen } }

    /// How often each rule was broken, those findings included that were forgotten.
    var totals: [Deviation: Int] {
        self.counts.values.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
    }

    /// How often each rule was broken at a provider, likewise.
    func totals(of provider: ProviderID) -> [Deviation: Int] { self.counts[provider] ?? [:] }

    /// Counts a deviation; `make` is asked for the example of a new finding only.
    ///
    /// - Returns: Whether the finding is new.
    mutating func note(
        _ deviation: Deviation, of subject: EngineActivity.Subject, in provider: ProviderID, at now: Date,
        example make: () -> DeviationFinding.Example
    ) -> Bool {
        self.counts[provider, default: [:]][deviation, default: 0] += 1
        let key = Key(deviation: deviation, subject: subject, provider: provider)
        if let index = self.findings.index(forKey: key) {
            self.findings.values[index].count += 1
            self.findings.values[index].lastSeen = now
            return false
        }
        if self.findings.count >= self.capacity { self.forget() }
        self.findings[key] = DeviationFinding(
            deviation: deviation, subject: subject, provider: provider, count: 1, firstSeen: now, lastSeen: now,
            example: make())
        return true
    }

    /// Drops the eighth that was not seen for longest, at once, so that a full record costs little for each new finding.
    private mutating func forget() {
        let oldest = self.findings.sorted { $0.value.lastSeen < $1.value.lastSeen }.prefix(max(1, self.capacity / 8))
        for (key, _) in oldest { self.findings[key] = nil }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
import Foundation

/// Findings as `fleetpass lint` and `/deviations` print them: one entry for each rule, with its subjects.
public struct DeviationReport: Codable, Hashable, Sendable {
    /// A rule that is not kept.
    public struct Entry: Codable, Hashable, Sendable {
        /// The rule's name, such as `token-without-kid`.
        public let id: String
        /// What was seen.
        public let what: String
        /// Why it matters.
        public let why: String
        /// How to mend it.
        public let fix: String
        /// The document that says so.
        public let source: String
        /// What the strict profile does.
        public let inStrict: DeviationRule.Consequence
        /// In how many calls it was seen.
        public let count: Int
        /// Whose calls they were, the last seen first; not all of them where there are very many.
        public let subjects: [Subject]
    }

    /// A vehicle, trip or other subject that does not keep a rule.
    public struct Subject: Codable, Hashable, Sendable {
        /// The kind of the resource, such as `vehicle`; `fleet` for tokens that reach more than one.
        public let kind: String
        /// The resource's id; empty for a fleet.
        public let id: String
        /// The id of the provider to which it belongs.
        public let provider: String
        /// In how many calls it was seen.
        public let count: Int
        /// When it was first seen, as ISO 8601 has it.
        public let firstSeen: String
        /// When it was last seen.
        public let lastSeen: String
        /// The RPC with which it was first seen.
        public let method: String
        /// The role of the token's account, where a token is known.
        public let role: String?
        /// The token's fingerprint, where a token is known.
        public let fingerprint: String?
    }

    /// The profile that the engine runs with; `nil` for a report of a token or a recording.
    public let profile: String?
    /// The rules that are not kept, in the order of their table.
    public let deviations: [Entry]

    /// Reports what a watch noted, of all providers.
    public init(_ watch: DeviationWatch, profile: StrictnessProfile?) {
        let noted = watch.noted
        let findings = Dictionary(grouping: noted.all, by: \.deviation)
        self.profile = profile?.rawValue
        self.deviations = noted.totals.sorted { $0.key.rawValue < $1.key.rawValue }.map { deviation, count in
            Entry(deviation, count: count, subjects: (findings[deviation] ?? []).map(Subject.init))
        }
    }

    /// Reports what is known of a token alone.
    public init(of deviations: DeviationSet) {
        self.profile = nil
        self.deviations = deviations.map { Entry($0, count: 1, subjects: []) }
    }
}

extension DeviationReport.Entry {
    fileprivate init(_ deviation: Deviation, count: Int, subjects: [DeviationReport.Subject]) {
        let rule = deviation.rule
        self.id = rule.id
        self.what = rule.what
        self.why = rule.why
        self.fix = rule.fix
        self.source = rule.source
        self.inStrict = rule.inStrict
        self.count = count
        self.subjects = subjects
    }
}

extension DeviationReport.Subject {
    fileprivate init(_ finding: DeviationFinding) {
        self.kind = finding.subject.kind.rawValue
        self.id = finding.subject.id
        self.provider = finding.provider.value
        self.count = finding.count
        self.firstSeen = finding.firstSeen.formatted(.iso8601)
        self.lastSeen = finding.lastSeen.formatted(.iso8601)
        self.method = finding.example.method.name
        self.role = finding.example.role?.rawValue
        self.fingerprint = finding.example.fingerprint
    }
}

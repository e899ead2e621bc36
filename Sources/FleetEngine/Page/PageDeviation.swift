// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

/// A rule of the documentation that one subject does not keep; it holds no token.
struct PageDeviation: Encodable, Hashable, Sendable {
    let id: String
    let rule: String
    let what: String
    let why: String
    let fix: String
    let source: String
    let isRefusedInStrict: Bool
    let subject: PageSubject
    let count: Int
    let first: Int64
    let last: Int64
    let method: String
    let role: String?
    let fingerprint: String?

    init(_ finding: DeviationFinding) {
        let rule = finding.deviation.rule
        self.id = "\(rule.id)/\(finding.subject.kind.rawValue)/\(finding.subject.id)"
        self.rule = rule.id
        self.what = rule.what
        self.why = rule.why
        self.fix = rule.fix
        self.source = rule.source
        self.isRefusedInStrict = rule.inStrict == .refused
        self.subject = PageSubject(finding.subject)
        self.count = finding.count
        self.first = finding.firstSeen.milliseconds
        self.last = finding.lastSeen.milliseconds
        self.method = finding.example.method.name
        self.role = finding.example.role?.rawValue
        self.fingerprint = finding.example.fingerprint
    }
}

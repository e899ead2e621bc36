// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

/// An explanation as the commands print it.
struct ExplanationReport: Encodable {
    struct Check: Encodable {
        let rule: String
        let outcome: String
        let detail: String
        let reason: String?
        let fix: String?
    }

    struct Claims: Encodable {
        let issuer: String
        let subject: String
        let audience: String
        let issuedAt: Int64
        let expiresAt: Int64
        let authorization: JSONValue?
    }

    /// Whether every check was reached and passed.
    let allowed: Bool
    /// The reason of the first refusal, which is the one that the engine answers with.
    let reason: String?
    let checks: [Check]
    let claims: Claims?
    /// The whole header as it was parsed; absent where it was not asked for, or cannot be read.
    let header: JSONValue?
    /// The whole payload as it was parsed; absent as the header is.
    let payload: JSONValue?

    /// Words an explanation; `fixes` stand in place of the refusals' own, by their rules.
    init(
        _ explanation: TokenExplanation, header: JSONValue? = nil, payload: JSONValue? = nil,
        fixes: [TokenRule: String] = [:]
    ) {
        self.header = header
        self.payload = payload
        self.allowed = explanation.isAllowed
        self.reason = explanation.refusal?.reason.rawValue
        self.checks = explanation.checks.map { check in
            let rule = check.rule.rawValue
            return switch check.outcome {
            case .passed(let found): Check(rule: rule, outcome: "passed", detail: found, reason: nil, fix: nil)
            case .refused(let refusal):
                Check(
                    rule: rule, outcome: "refused", detail: refusal.message, reason: refusal.reason.rawValue,
                    fix: fixes[check.rule] ?? refusal.fix
                )
            case .notReached(let why):
                Check(rule: rule, outcome: "not_reached", detail: why, reason: nil, fix: nil)
            }
        }
        self.claims = explanation.claims.map { claims in
            Claims(
                issuer: claims.issuer,
                subject: claims.subject,
                audience: claims.audience,
                issuedAt: claims.issuedAt,
                expiresAt: claims.expiresAt,
                authorization: claims.authorization?.json
            )
        }
    }

    /// One line for each check, the first refusal marked; nothing of the token can forge one.
    var text: String {
        var isMarked = false
        let lines = self.checks.flatMap { check -> [String] in
            let rule = check.rule.padding(toLength: 14, withPad: " ", startingAt: 0)
            switch check.outcome {
            case "passed": return ["   ok       \(rule) \(check.detail.shown())"]
            case "refused":
                let mark = isMarked ? "  " : "=>"
                isMarked = true
                return [
                    "\(mark) refused  \(rule) \(check.reason ?? ""): \(check.detail.shown())",
                    "            \(rule.replacing(#/./#, with: " ")) fix: \(check.fix ?? "")",
                ]
            default: return ["   -        \(rule) \(check.detail.shown())"]
            }
        }
        return lines.joined(separator: "\n")
    }

    /// Prints the report, and ends with 1 when a check refused.
    func give(as format: OutputFormat) throws {
        switch format {
        case .text: Console.give(self.text)
        case .json: try Console.give(json: self)
        }
        if let reason { throw CommandFailure(status: .failed, message: "the token is refused: \(reason).") }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokenServer
import Foundation
import GoogleCredentials

/// What one check found, and what to do where it found a fault.
struct DoctorFinding: Encodable {
    /// How a check ended.
    enum Outcome: String, Encodable {
        case ok, fault
        /// It could not be made here, which says nothing either way.
        case skipped
    }

    private enum CodingKeys: String, CodingKey {
        case check, outcome, detail, next
    }

    let check: String
    let outcome: Outcome
    let detail: String
    /// The next step; there is one for each fault, and for what may be meant otherwise.
    let next: String?
    /// What the command ends with because of it.
    let status: CommandFailure.Status?

    static func ok(_ check: String, _ detail: String, next: String? = nil) -> Self {
        Self(check: check, outcome: .ok, detail: Self.line(detail), next: next, status: nil)
    }

    static func skipped(_ check: String, _ detail: String, next: String) -> Self {
        Self(check: check, outcome: .skipped, detail: Self.line(detail), next: next, status: nil)
    }

    static func fault(
        _ check: String, _ detail: String, next: String, status: CommandFailure.Status = .configuration
    ) -> Self {
        Self(check: check, outcome: .fault, detail: Self.line(detail), next: next, status: status)
    }

    /// A fault from the error that showed it.
    static func fault(_ check: String, _ error: any Error, next: String) -> Self {
        let credential =
            error as? CredentialError ?? (error as? SigningError)?.cause as? CredentialError
            ?? ((error as? SigningError)?.cause as? SigningError)?.cause as? CredentialError
        guard let credential else {
            let message =
                (error as? TokenServerError)?.message ?? (error as? SigningError)?.message
                ?? (error as? CommandFailure)?.message ?? "\(error)"
            return .fault(check, message, next: next)
        }
        var detail = (error as? SigningError)?.message ?? credential.description
        if let advice = credential.nextStep, detail.hasSuffix(advice) { detail.removeLast(advice.count) }
        if credential.isTransient {
            return .fault(
                check, detail,
                next: "Check the network from here and the service's state, then run fleetpass doctor again.",
                status: .unreachable)
        }
        return .fault(
            check, detail, next: credential.nextStep ?? next,
            status: credential.code == .refused ? .failed : .configuration)
    }

    /// The finding on one line.
    var text: String {
        "\(self.outcome.rawValue.padding(toLength: 8, withPad: " ", startingAt: 0))\(self.check): \(self.detail)"
            + (self.next.map { " Next: \($0)" } ?? "")
    }

    private static func line(_ text: String) -> String {
        text.split(separator: "\n").map { $0.trimmingPrefix { $0 == " " } }.joined(separator: "; ")
            .trimmingCharacters(in: .whitespaces)
    }
}

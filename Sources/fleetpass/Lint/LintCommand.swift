// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetEngine
import FleetSigning
import FleetTokens
import Foundation

/// `fleetpass lint`: what departs from the documentation, though the service lets it pass.
struct LintCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lint",
        abstract: "List what departs from the documentation: of a running engine, a recording or a token.",
        discussion: """
            Examples:  fleetpass lint --engine http://127.0.0.1:8080
                       fleetpass lint --recording two-trips.json
                       fleetpass mint … | fleetpass lint - --keys fleetpass-data

            An engine notes deviations in either profile. up and demo tell them to this machine, and serve engine to \
            those whom page.visible_to names. Of a recording only requests and the times between \
            reports are looked at, as it holds no tokens. Ends with 1 when there is any deviation, or when the token is refused.
            """
    )

    @Argument(help: "A token, or - to read it from standard input, which keeps it out of the process list.")
    var token: String?

    @Option(help: ArgumentHelp("The address of an engine that runs here.", valueName: "url"))
    var engine: String?

    @Option(
        help: ArgumentHelp(
            "A Cloud Logging export of Fleet Engine, or the file of `up --record`; - reads stdin.", valueName: "file"),
        completion: .file())
    var recording: String?

    @Option(
        help: ArgumentHelp(
            "For a token: where the trusted keys are; rules that depend on the role need them.",
            valueName: "file|folder|url"),
        completion: .file())
    var keys: String?

    @Option(help: "How to print.")
    var output: OutputFormat = .text

    func validate() throws {
        try OptionRules.need(
            [self.token, self.engine, self.recording].compactMap(\.self).count == 1,
            "Name one of a token, --engine and --recording.")
        try OptionRules.need(self.keys == nil || self.token != nil, "--keys belongs to a token.")
    }

    func run() async throws {
        let report: DeviationReport
        var refusal: TokenRefusal?
        if let engine {
            let servers =
                "fleetpass up or demo, or of a fleetpass serve engine whose page.visible_to lets this machine see it"
            report = try await LocalEngineClient(engine, of: servers).ask("GET", "deviations")
        } else if let recording {
            let source = try RecordingArgument.parse([recording]).read()
            let (found, unread) = source.examineDeviations()
            if unread > 0 { Console.say("\(unread) calls are no requests of the API as it is, and were passed over.") }
            report = found
        } else {
            let explanation = try await self.explanation()
            report = DeviationReport(of: explanation.deviations)
            refusal = explanation.refusal
        }
        try self.give(report, refusal)
    }

    private func explanation() async throws -> TokenExplanation {
        let token = try TokenArgument.parse([self.token ?? "-"]).read()
        guard let location = self.keys else {
            return TokenExaminer().explain(token, request: nil, keys: nil, now: Date())
        }
        return try await KeysArgument(location: location).verifier().explain(token, request: nil, at: Date())
    }

    private func give(_ report: DeviationReport, _ refusal: TokenRefusal?) throws {
        switch self.output {
        // Of a refused token not everything was looked at.
        case .text: if refusal == nil || !report.deviations.isEmpty { Console.give(report.text) }
        case .json: try Console.give(json: Report(report, refusal))
        }
        if let refusal {
            throw CommandFailure(
                status: .failed,
                message: "the token is refused: \(refusal.reason). \(refusal.message) \(refusal.fix)")
        }
        guard report.deviations.isEmpty else {
            let count = report.deviations.count
            throw CommandFailure(
                status: .failed, message: "\(count) \(count == 1 ? "rule is" : "rules are") not kept.")
        }
    }

    /// A report with what else there is to say of a token.
    private struct Report: Encodable {
        struct Refusal: Encodable {
            let reason: String
            let message: String
        }

        let profile: String?
        let deviations: [DeviationReport.Entry]
        /// Absent unless a token is refused.
        let refusal: Refusal?

        init(_ report: DeviationReport, _ refusal: TokenRefusal?) {
            self.profile = report.profile
            self.deviations = report.deviations
            self.refusal = refusal.map { Refusal(reason: $0.reason.rawValue, message: $0.message) }
        }
    }
}

extension DeviationReport {
    /// A paragraph for each rule.
    fileprivate var text: String {
        guard !self.deviations.isEmpty else { return "Nothing departs from the documentation." }
        let areOfSeveral = Set(self.deviations.flatMap(\.subjects).map(\.provider)).count > 1
        return self.deviations.map { entry in
            var lines = ["\(entry.id)   \(entry.count) \(entry.count == 1 ? "time" : "times")", "  \(entry.what)"]
            lines += ["  why:    \(entry.why)", "  fix:    \(entry.fix)", "  source: \(entry.source)"]
            lines += entry.subjects.prefix(10).map { subject in
                let who = [subject.kind, subject.id].filter { !$0.isEmpty }.joined(separator: " ")
                let of = areOfSeveral ? " of \(subject.provider)" : ""
                let by = [subject.role, subject.fingerprint.map { "token \($0)" }].compactMap(\.self)
                return "  - \(who)\(of): \(subject.count) × since \(subject.firstSeen), first with \(subject.method)"
                    + (by.isEmpty ? "" : " by \(by.joined(separator: ", "))")
            }
            if entry.subjects.count > 10 {
                lines.append("  … and \(entry.subjects.count - 10) more; see --output json")
            }
            return lines.map { $0.shown() }.joined(separator: "\n")
        }.joined(separator: "\n\n")
    }
}

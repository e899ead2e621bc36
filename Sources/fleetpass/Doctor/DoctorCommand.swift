// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetOperation
import FleetTokenServer
import Foundation

/// `fleetpass doctor`: looks at everything that a token server needs, and says what to do about each fault.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check what a token server needs, and say what to do about each fault.",
        discussion: """
            Example:  fleetpass doctor --config tokens.yaml

            Checks the configuration, the certificates that SSL_CERT_FILE names, the store, who may use the files of keys, secrets and callers, the credentials, a trial token of each role in each \
            of its ways to sign, the callers, the policy and its webhook, the TLS files and the clock; without --config, the certificates, the credentials and the clock. It prints one line for \
            each and changes nothing. The clock is compared with the date that Google's servers send; without a network \
            that is skipped.

            It ends with 0 when there is no fault, 78 when something is set up wrongly, 69 when a service cannot be \
            reached, and 1 when a service refused or the clock is wrong.
            """
    )

    @Option(help: ArgumentHelp("The token server's configuration, in YAML.", valueName: "file"), completion: .file())
    var config: String?

    @Option(help: "text prints a line for each check; json gives check, outcome, detail and next of each.")
    var output: OutputFormat = .text

    private struct Report: Encodable {
        let outcome: DoctorFinding.Outcome
        let checks: [DoctorFinding]
    }

    func run() async throws {
        let findings = await SignalExit.during { await self.findings() }
        let faults = findings.filter { $0.outcome == .fault }
        switch self.output {
        case .text: findings.forEach { Console.give($0.text) }
        case .json: try Console.give(json: Report(outcome: faults.isEmpty ? .ok : .fault, checks: findings))
        }
        // What is set up wrongly comes first: it may be why the rest fails.
        let statuses = faults.compactMap(\.status)
        guard
            let status = [CommandFailure.Status.configuration, .unreachable, .failed].first(where: statuses.contains)
        else { return }
        let count = faults.count == 1 ? "there is 1 fault" : "there are \(faults.count) faults"
        throw CommandFailure(status: status, message: "\(count) among \(findings.count) checks.")
    }

    private func findings() async -> [DoctorFinding] {
        let variables = ProcessInfo.processInfo.environment
        guard let config else {
            let google = GoogleSettings()
            return [
                TrustedAuthorities(variables: variables).finding,
                await CredentialsCheck(google: google.signers(variables: variables)).finding(),
                await ClockCheck(google: google, others: []).finding(),
            ].compactMap { $0 }
        }
        let configuration: TokenServerConfiguration
        do {
            configuration = try ServeTokensCommand.read(config)
        } catch {
            if Self.isForAnEngine(config) { return [.engineConfiguration(config)] }
            let next = "Mend the file; fleetpass serve tokens --reference tells what each setting is."
            return [.fault("configuration", error, next: next)]
        }
        return await TokenServerExamination(configuration, file: config, variables: variables).findings()
    }

    /// Whether a file sets up an engine, as the sections say that only the one or the other has.
    private static func isForAnEngine(_ path: String) -> Bool {
        guard let text = try? ConfigurationFile(path: path, command: "doctor").text(),
            let root = try? YAMLNode(yaml: text, file: path), let settings = try? root.mapping(nil, of: "the file")
        else { return false }
        let sections = Set(settings.keys)
        return !sections.isDisjoint(with: ["providers", "trust", "retention"])
            && sections.isDisjoint(with: ["provider", "callers", "signers", "policy"])
    }
}

extension DoctorFinding {
    /// The configuration is an engine's, which has no doctor.
    fileprivate static func engineConfiguration(_ file: String) -> Self {
        .fault(
            "configuration", "\(file) is the configuration of an engine, and doctor looks at those of token servers.",
            next: "Run fleetpass serve engine --config \(file), which names what keeps it from starting; once it runs, "
                + "its /readyz tells what keeps it from its work. fleetpass serve engine --reference tells what each "
                + "setting is.")
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetTokenServer
import FleetTokens
import Foundation

/// `fleetpass audit search`: who got which token, and who could read what.
struct AuditSearchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "search",
        abstract: "Find who got which token, and who could read what.",
        discussion: """
            Example:  fleetpass audit search --data data --trip trip-7 --at 2026-01-31T14:05:00Z

            With a resource, finds the tokens that reached it, those for everything included; with --at, those that \
            could be used then. A driver's token reaches a trip while the trip is assigned to the driver's vehicle, \
            which the token server does not know: such a match says so, unless --trip-vehicle names the vehicle.

            Changes by administrators are found too: assignments, withdrawals and keys, each with who made it. A \
            resource, --caller and --subject find those that are about it or by them; --at finds tokens only.

            What was moved to an archive is searched by --store FILE.
            """
    )

    @OptionGroup var store: TokenStoreOptions

    @OptionGroup(title: "What was to be read") var resources: ResourceOptions

    @Option(help: "The vehicle that the trip was assigned to.", transform: checkedID)
    var tripVehicle: VehicleID?

    @Option(help: ArgumentHelp("When the token could be used.", valueName: "time"), transform: checkedTime)
    var at: Date?

    @Option(help: ArgumentHelp("Nothing decided before.", valueName: "time"), transform: checkedTime)
    var from: Date?

    @Option(help: ArgumentHelp("Nothing decided then or after.", valueName: "time"), transform: checkedTime)
    var until: Date?

    @Option(help: "The caller's or administrator's name.")
    var caller: String?

    @Option(help: "The caller's subject, such as the sub of its ID token; of a change, also whom it was about.")
    var subject: String?

    @Option(help: "A token's fingerprint.")
    var fingerprint: String?

    @Option(
        help: ArgumentHelp(
            "Only what was decided about tokens, or what administrators changed.", valueName: "decision|change"),
        completion: .list(["decision", "change"]),
        transform: { text in
            guard let kind = AuditEvent.Kind(rawValue: text) else {
                throw ValidationError("\(text) is no kind of record; pass decision or change.")
            }
            return kind
        })
    var kind: AuditEvent.Kind?

    @Option(help: "How to print; json gives one line for each record.")
    var output: OutputFormat = .text

    func validate() throws {
        guard self.resources.all.count <= 1 else { throw ValidationError("Name one resource at most.") }
        try OptionRules.need(
            self.tripVehicle == nil || self.resources.trip != nil, "--trip-vehicle belongs to --trip.")
        if let fault = self.fingerprint.flatMap({ RevocationTarget.fingerprint($0).fault }) {
            throw ValidationError("--fingerprint \(fault).")
        }
    }

    func run() async throws {
        var query = AuditQuery()
        query.resource = self.resources.all.first
        query.vehicleOfTrip = self.tripVehicle
        query.time = self.at
        query.from = self.from
        query.until = self.until
        query.caller = self.caller
        query.subject = self.subject
        query.fingerprint = self.fingerprint
        query.kind = self.kind
        let format = self.output
        let reader = AuditReader(store: try await self.store.open(to: .readAudit))
        try await reader.searchTellingOfArchives(query) { match in
            switch format {
            case .text: Console.give(match.line)
            case .json: Console.give(match.entry.jsonLine)
            }
        }
    }
}

extension AuditMatch {
    /// The match on one line.
    fileprivate var line: String {
        let time = Date(timeIntervalSince1970: TimeInterval(self.event.time) / 1000)
        var words = [APITime.text(time)]
        switch self.event {
        case .decision(let record): words += record.words
        case .change(let change): words += change.words
        }
        if let vehicle = self.onlyWhileAssignedTo {
            words.append("only while the trip is assigned to \(vehicle.value.lineWord)")
        }
        return words.joined(separator: " ")
    }
}

extension AuditRecord {
    fileprivate var words: [String] {
        var words = [
            "\(self.decision)", "caller=\(self.caller.lineWord)", "subject=\(self.callerID.description.lineWord)",
            "role=\(self.role.rawValue.lineWord)", "claims=\(self.claims.summary.lineWord)",
        ]
        if let address { words.append("address=\(address.lineWord)") }
        if let rule { words.append("rule=\(rule.lineWord)") }
        if let reason { words.append("reason=\(reason.lineWord)") }
        if let token {
            let end = Date(timeIntervalSince1970: TimeInterval(token.expiresAt))
            words += [
                "fingerprint=\(token.fingerprint.lineWord)", "key=\((token.keyID ?? "?").lineWord)",
                "until=\(APITime.text(end))",
            ]
        }
        return words
    }
}

extension AuditChange {
    fileprivate var words: [String] {
        var words = [
            self.action.rawValue.lineWord, "by=\(self.actor.name.lineWord)",
            "subject=\(self.actor.id.description.lineWord)",
        ]
        if let address = self.actor.address { words.append("address=\(address.lineWord)") }
        return words + self.details.sorted { $0.key < $1.key }.map { "\($0.key.lineWord)=\($0.value.lineWord)" }
    }
}

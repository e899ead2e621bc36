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

    @Option(help: "The caller's name.")
    var caller: String?

    @Option(help: "The caller's subject, such as the sub of its ID token.")
    var subject: String?

    @Option(help: "A token's fingerprint.")
    var fingerprint: String?

    @Option(help: "How to print; json gives one line for each record.")
    var output: OutputFormat = .text

    func validate() throws {
        guard self.resources.all.count <= 1 else { throw ValidationError("Name one resource at most.") }
        guard self.tripVehicle == nil || self.resources.trip != nil else {
            throw ValidationError("--trip-vehicle belongs to --trip.")
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
        let format = self.output
        try await AuditReader(store: try await self.store.open()).search(query) { match in
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
        let time = Date(timeIntervalSince1970: TimeInterval(self.record.time) / 1000)
        var words = [
            "\(time.formatted(.iso8601))", "\(self.record.decision)", "caller=\(self.record.caller)",
            "subject=\(self.record.callerID)", "role=\(self.record.role)", "claims=\(self.record.claims.summary)",
        ]
        if let address = self.record.address { words.append("address=\(address)") }
        if let rule = self.record.rule { words.append("rule=\(rule)") }
        if let reason = self.record.reason { words.append("reason=\(reason)") }
        if let token = self.record.token {
            let end = Date(timeIntervalSince1970: TimeInterval(token.expiresAt))
            words.append("fingerprint=\(token.fingerprint) key=\(token.keyID ?? "?") until=\(end.formatted(.iso8601))")
        }
        if let vehicle = self.onlyWhileAssignedTo { words.append("only while the trip is assigned to \(vehicle)") }
        // A name that a user chose must not start a line of its own.
        return words.joined(separator: " ").replacing(/[\p{Cc}\u{2028}\u{2029}]/, with: "\u{FFFD}")
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetTokenServer
import FleetTokens
import Foundation

/// `fleetpass assignments`: who may hold which vehicle, trip, task or shipment.
struct AssignmentsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "assignments",
        abstract: "Say who may hold which vehicle, trip, task or shipment.",
        discussion:
            "A running server's policy answers by it at once. Tokens that were given before live on; see revoke.",
        subcommands: [AssignmentsAddCommand.self, AssignmentsEndCommand.self, AssignmentsListCommand.self]
    )
}

/// Who holds what.
struct AssignmentOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The holder, as authenticator's label and subject.", valueName: "issuer/subject"))
    var holder: String?

    @OptionGroup var resources: ResourceOptions

    func validate() throws {
        guard self.resources.all.count <= 1 else { throw ValidationError("Name one resource.") }
        if let holder, self.holderID == nil {
            throw ValidationError("\(holder) is no holder; write the authenticator's label, a slash, and the subject.")
        }
    }

    /// The resource, if one is named.
    var resource: AssignedResource? { self.resources.all.first }

    /// The holder, if one is named.
    var holderID: CallerID? {
        self.holder.flatMap(CallerID.init).flatMap { $0.issuer.isEmpty || $0.subject.isEmpty ? nil : $0 }
    }

    /// Both, which must be named.
    var required: (CallerID, AssignedResource) {
        get throws {
            guard let holderID, let resource else {
                throw CommandFailure(status: .usage, message: "name a --holder and one resource.")
            }
            return (holderID, resource)
        }
    }
}

/// `fleetpass assignments add`: from now or a time on, somebody may hold something.
struct AssignmentsAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Let somebody hold something for a time.",
        discussion: """
            Example:  fleetpass assignments add --data data --holder acme-login/driver-7 --vehicle veh-3

            Without --from and --until, one that holds already and has no end is left as it is.
            """
    )

    @OptionGroup var store: TokenStoreOptions
    @OptionGroup var assignment: AssignmentOptions

    @Option(help: ArgumentHelp("From when on (default: now).", valueName: "time"), transform: checkedTime)
    var from: Date?

    @Option(help: ArgumentHelp("Until when (default: until it is ended).", valueName: "time"), transform: checkedTime)
    var until: Date?

    func validate() throws {
        guard let holder = self.assignment.holderID else { return }
        guard holder.isUsable else {
            throw ValidationError(
                "\(holder) can be no caller; an authenticator's label and a subject have 1 to 255 printable ASCII "
                    + "characters each.")
        }
    }

    func run() async throws {
        let (holder, resource) = try self.assignment.required
        let (store, now) = try await self.store.openToChange()
        let start = self.from ?? now
        guard self.until.map({ $0 > start }) ?? true else {
            throw CommandFailure(status: .usage, message: "the assignment ends before it begins.")
        }
        let assignment = Assignment(holder: holder, resource: resource, start: start, end: self.until)
        guard !StoredAssignments.isOver(assignment, at: now) else {
            throw CommandFailure(
                status: .usage,
                message: "the assignment ended 30 days ago or earlier, and none is kept so long; pass a later --until.")
        }
        _ = try await CommandFailure.changing(seenBy: "assignments list") {
            try await Administration(store: store).add(
                assignment, unlessBegun: self.from == nil, by: .localUser, at: now)
        }
    }
}

/// `fleetpass assignments end`: from now or a time on, somebody holds something no more.
struct AssignmentsEndCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "end",
        abstract: "Let somebody hold something no more.",
        discussion: "Example:  fleetpass assignments end --data data --holder acme-login/driver-7 --vehicle veh-3"
    )

    @OptionGroup var store: TokenStoreOptions
    @OptionGroup var assignment: AssignmentOptions

    @Option(help: ArgumentHelp("From when on (default: now).", valueName: "time"), transform: checkedTime)
    var from: Date?

    func run() async throws {
        let (holder, resource) = try self.assignment.required
        let (store, now) = try await self.store.openToChange()
        let ended = try await CommandFailure.changing(seenBy: "assignments list") {
            try await Administration(store: store).end(
                resource, of: holder, at: self.from ?? now, by: .localUser, now: now)
        }
        guard ended > 0 else {
            throw CommandFailure(status: .failed, message: "\(holder) holds no \(resource.kind) \(resource.id) then.")
        }
    }
}

/// `fleetpass assignments list`: who holds what.
struct AssignmentsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Say who holds what.",
        discussion: """
            Example:  fleetpass assignments list --data data --vehicle veh-3 --at 2026-01-31T14:05:00Z

            What ended 30 days ago or earlier is removed with the next change; see audit search.
            """
    )

    @OptionGroup var store: TokenStoreOptions
    @OptionGroup var assignment: AssignmentOptions

    @Option(help: ArgumentHelp("Only what holds then.", valueName: "time"), transform: checkedTime)
    var at: Date?

    @Option(help: "The most to list; where there are more, that is told on stderr.")
    var limit = 1000

    @Option(help: "How to print.")
    var output: OutputFormat = .text

    private struct Report: Encodable {
        let holder: String
        let kind: String
        let id: String
        let start: String
        /// Absent of one without an end.
        let end: String?

        init(_ assignment: Assignment) {
            self.holder = "\(assignment.holder)"
            self.kind = assignment.resource.kind
            self.id = assignment.resource.id
            self.start = APITime.text(assignment.start)
            self.end = assignment.end.map(APITime.text)
        }
    }

    func validate() throws {
        guard self.limit >= 1 else { throw ValidationError("--limit must be 1 or more.") }
    }

    func run() async throws {
        // One more tells whether there are more.
        let found = try await StoredAssignments(store: try await self.store.open(to: .list)).assignments(
            of: self.assignment.holderID, to: self.assignment.resource, at: self.at,
            limit: self.limit < .max ? self.limit + 1 : self.limit)
        let listed = found.prefix(self.limit)
        switch self.output {
        case .text:
            for assignment in listed {
                let end = assignment.end.map { " until=\(APITime.text($0))" } ?? ""
                Console.give(
                    "\(assignment.holder.description.lineWord) "
                        + "\(assignment.resource.kind)=\(assignment.resource.id.lineWord) "
                        + "from=\(APITime.text(assignment.start))\(end)")
            }
        case .json: try Console.give(json: listed.map(Report.init))
        }
        if found.count > listed.count {
            Console.say(
                "fleetpass: there are more than these \(listed.count); pass a greater --limit, or name whose or what.")
        }
    }
}

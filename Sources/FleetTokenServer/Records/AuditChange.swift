// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
public import Foundation

/// What an administrator changed: who, what and when; kept in the same chain as what was decided about tokens.
public struct AuditChange: Hashable, Sendable {
    /// What was done; unknown words, of later versions, are kept.
    public struct Action: RawRepresentable, Hashable, Sendable {
        /// The word in the record.
        public let rawValue: String
        /// Wraps any word, known or not.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Somebody may hold something from now on: `holder`, `kind`, `id`, `start` and, where there is one, `end`.
        public static let assignmentAdded = Self(rawValue: "assignment_added")
        /// Somebody holds something no more: `holder`, `kind`, `id`, `at` and the `count` of assignments.
        public static let assignmentEnded = Self(rawValue: "assignment_ended")
        /// Tokens were withdrawn: `kind` and `id` of whose, and the `count` of entries that it made.
        public static let tokensWithdrawn = Self(rawValue: "tokens_withdrawn")
        /// A role has a new key: `role` and `key_id`.
        public static let keyRotated = Self(rawValue: "key_rotated")
        /// A key was removed: `role`, `key_id` and whether that was `forced`.
        public static let keyRetired = Self(rawValue: "key_retired")
        /// The first records were moved to an archive: their `count`, the `head` they lead to, and the name of the `file`.
        public static let recordsArchived = Self(rawValue: "records_archived")
    }

    /// Who makes a change, and by which way in.
    public struct Actor: Hashable, Sendable {
        /// The label of users of the command line; the configuration gives it to no authenticator.
        public static let commandLineIssuer = "command line"

        /// The name.
        public var name: String
        /// Which subject of which authenticator it is.
        public var id: CallerID
        /// The address that the request came from, where there was one.
        public var address: String?

        /// Names an administrator who sent a request.
        ///
        /// - Parameters:
        ///   - administrator: Who sent it.
        ///   - address: The address that it came from.
        public init(_ administrator: Caller, address: String?) {
            self.name = administrator.name
            self.id = administrator.id
            self.address = address
        }

        /// Names a user of this machine, who has the store at hand and is believed.
        ///
        /// - Parameter user: The user's name.
        public init(localUser user: String) {
            self.name = user
            self.id = CallerID(issuer: Self.commandLineIssuer, subject: user)
        }

        fileprivate init(name: String, id: CallerID, address: String?) {
            self.name = name
            self.id = id
            self.address = address
        }
    }

    /// When it was done, in Unix milliseconds.
    public var time: Int64
    /// Who did it.
    public var actor: Actor
    /// What was done.
    public var action: Action
    /// What it was done to, by the names that ``Action`` tells.
    public var details: [String: String]

    /// Describes a change.
    ///
    /// - Parameters:
    ///   - action: What was done.
    ///   - details: What it was done to.
    ///   - actor: Who did it.
    ///   - time: When.
    public init(_ action: Action, _ details: [String: String], by actor: Actor, at time: Date) {
        self.time = Int64((time.timeIntervalSince1970 * 1000).rounded(.down))
        self.actor = actor
        self.action = action
        self.details = details
    }

    /// The token that was withdrawn, where it was one.
    var fingerprint: String? {
        self.details["kind"] == "fingerprint" ? self.details["id"] : nil
    }

    /// The last record that was moved to an archive, where some were.
    var archivedHead: AuditHead? {
        self.action == .recordsArchived ? self.details["head"].flatMap { AuditHead($0) } : nil
    }

    /// Whether it was done to a resource.
    func concerns(_ resource: AssignedResource) -> Bool {
        self.details["kind"] == resource.kind && self.details["id"] == resource.id
    }

    /// Whether somebody made it, or it was done to what somebody holds or had.
    func concerns(subject: String) -> Bool {
        self.actor.id.subject == subject || (self.details["kind"] == "subject" && self.details["id"] == subject)
            || self.details["holder"].flatMap(CallerID.init)?.subject == subject
    }
}

// MARK: - JSON

extension AuditChange {
    private enum Key {
        static let time = "time_ms"
        static let action = "change"
        static let actor = "actor"
        static let issuer = "issuer"
        static let subject = "subject"
        static let address = "address"
        static let details = "details"
        /// Stands beside the details too, where stores search by it.
        static let fingerprint = "fingerprint"
    }

    /// The change as a JSON object.
    var json: JSONValue {
        var object: JSONObject = [
            Key.time: .integer(self.time),
            Key.action: .string(self.action.rawValue),
            Key.actor: .string(self.actor.name),
            Key.issuer: .string(self.actor.id.issuer),
            Key.subject: .string(self.actor.id.subject),
            Key.details: .object(JSONObject(self.details.mapValues { .string($0) })),
        ]
        object[Key.address] = self.actor.address.map(JSONValue.string)
        object[Key.fingerprint] = self.fingerprint.map(JSONValue.string)
        return .object(object)
    }

    /// Reads a change; `nil` where the object is none.
    init?(json object: JSONObject) {
        guard let time = object[Key.time]?.integer, let action = object[Key.action]?.string,
            let actor = object[Key.actor]?.string, let issuer = object[Key.issuer]?.string,
            let subject = object[Key.subject]?.string, let details = object[Key.details]?.object
        else { return nil }
        self.time = time
        self.action = Action(rawValue: action)
        self.actor = Actor(
            name: actor, id: CallerID(issuer: issuer, subject: subject), address: object[Key.address]?.string)
        self.details = [:]
        for (name, value) in details {
            guard let text = value.string else { return nil }
            self.details[name] = text
        }
        guard object[Key.fingerprint]?.string == self.fingerprint else { return nil }
    }
}

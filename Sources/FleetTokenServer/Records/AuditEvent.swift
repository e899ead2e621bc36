// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// What one entry of the audit tells.
public enum AuditEvent: Hashable, Sendable {
    /// The kinds of events.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// What was decided about a request for a token.
        case decision
        /// What an administrator changed.
        case change
    }

    /// What was decided about a request for a token.
    case decision(AuditRecord)
    /// What an administrator changed.
    case change(AuditChange)

    /// Which kind it is.
    public var kind: Kind {
        switch self {
        case .decision: .decision
        case .change: .change
        }
    }

    /// When it was, in Unix milliseconds.
    public var time: Int64 {
        switch self {
        case .decision(let record): record.time
        case .change(let change): change.time
        }
    }

    /// The token that it is about, where it is about one.
    var fingerprint: String? {
        switch self {
        case .decision(let record): record.token?.fingerprint
        case .change(let change): change.fingerprint
        }
    }

    /// The event as a JSON object.
    var json: JSONValue {
        switch self {
        case .decision(let record): record.json
        case .change(let change): change.json
        }
    }

    /// Reads an event; `nil` where the text is none.
    init?(json text: String) {
        guard let object = (try? JSONValue(parsing: text.utf8))?.object else { return nil }
        if let record = AuditRecord(json: object) {
            self = .decision(record)
        } else if let change = AuditChange(json: object) {
            self = .change(change)
        } else {
            return nil
        }
    }
}

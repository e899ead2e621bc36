// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
public import FleetTokens
public import Foundation

/// What one key is good for, in the words of commands and the admin API.
public struct KeyStatus: Encodable, Sendable {
    /// The role whose tokens it signs.
    public let role: String
    /// The key's id.
    public let keyID: String
    /// One of the states of ``KeySchedule/State``.
    public let state: String
    /// When it begins or began to sign; absent for the oldest key, and for one that a key file of a signer held at the start.
    public let signsFrom: Date?
    /// When no token of it can be alive; absent for the newest key.
    public let retiredFrom: Date?
}

extension KeyRing {
    /// What each key of a role is good for at a time, oldest first.
    public func statuses(of role: Role, at time: Date) -> [KeyStatus] {
        self.entries.indices.map { index in
            KeyStatus(
                role: role.rawValue, keyID: self.entries[index].key.keyID,
                state: self.schedule.state(of: index, at: time).rawValue,
                signsFrom: index == 0 ? nil : self.schedule.start(of: index), retiredFrom: self.schedule.end(of: index))
        }
    }
}

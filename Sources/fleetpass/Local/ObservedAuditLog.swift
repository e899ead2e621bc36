// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngine
import FleetTokenServer
import FleetTokens
import Foundation

/// Keeps what the token server decided in its log, and tells the engine's page of the tokens that were issued.
struct ObservedAuditLog: AuditLog {
    let log: any AuditLog
    /// The provider of the accounts that sign.
    let provider: ProviderID
    let activity: EngineActivity

    func append(_ record: AuditRecord) async throws {
        try await self.log.append(record)
        guard record.decision == .granted, let token = record.token else { return }
        self.activity.noteIssue(
            fingerprint: token.fingerprint, role: record.role, provider: self.provider, claims: record.claims,
            expiry: Date(timeIntervalSince1970: TimeInterval(token.expiresAt)),
            at: Date(timeIntervalSince1970: TimeInterval(record.time) / 1000))
    }
}

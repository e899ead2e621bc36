// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Keeps what the token server decided; a token is handed out only after its record is kept.
public protocol AuditLog: Sendable {
    /// Keeps a record.
    ///
    /// - Parameter record: What was decided.
    /// - Throws: An error when the record could not be made durable, which is answered with 503 and no token.
    func append(_ record: AuditRecord) async throws
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenServer
import Foundation

extension AuditReader {
    /// Hands out what a query finds, and says before on stderr where records that it may want are in archives.
    ///
    /// - Parameters:
    ///   - query: What to look for.
    ///   - body: Called for each match.
    /// - Throws: ``CommandFailure`` with `failed` where records were moved to an archive before they were read, or an error
    ///   of the store.
    func searchTellingOfArchives(
        _ query: AuditQuery, _ body: @escaping @Sendable (AuditMatch) throws -> Void
    ) async throws {
        let start = try await self.span().start
        if start.sequence > 0, try await self.mayMiss(query) {
            Console.say(
                "fleetpass: the first \(start.sequence) records were moved to archives, and are not read here; pass --store FILE."
            )
        }
        do {
            try await self.search(query, after: start, body)
        } catch let error as TokenServerError where error.code == .recordsArchived {
            throw CommandFailure(status: .failed, message: error.message)
        }
    }

    /// Whether a query looks for something from before the first record.
    private func mayMiss(_ query: AuditQuery) async throws -> Bool {
        // Tokens of the last hour before are looked for too.
        guard let earliest = query.from ?? query.time?.addingTimeInterval(-3600),
            let first = try await self.firstTime()
        else { return true }
        return earliest < first
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenServer

/// The PostgreSQL server that holds a store.
enum DatabaseServer {
    /// Fails where it does not answer.
    ///
    /// The store's own connections are made afterwards, as they log what goes wrong: it is told once, by the command.
    ///
    /// - Parameter address: `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`.
    /// - Throws: ``CommandFailure`` with `unreachable`.
    static func check(_ address: String) async throws {
        guard case .unreachable(let problem) = await TokenServerStore.inspect(postgreSQL: address) else { return }
        throw CommandFailure(status: .unreachable, message: "the store: \(problem)")
    }
}

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
        try Self.check(await TokenServerStore.inspect(postgreSQL: address))
    }

    /// Fails where it does not answer, or where no token server has made its tables there yet.
    ///
    /// - Parameter address: `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`.
    /// - Throws: ``CommandFailure`` with `unreachable`, or with `configuration`.
    static func checkStore(_ address: String) async throws {
        let inspection = await TokenServerStore.inspect(postgreSQL: address)
        try Self.check(inspection)
        guard case .usable(.missing) = inspection else { return }
        throw CommandFailure(
            status: .configuration,
            message: "the database holds no store of a token server; name that of `serve tokens`, and start that "
                + "server first.")
    }

    private static func check(_ inspection: TokenServerStore.Inspection) throws {
        guard case .unreachable(let problem) = inspection else { return }
        throw CommandFailure(status: .unreachable, message: "the store: \(problem)")
    }
}

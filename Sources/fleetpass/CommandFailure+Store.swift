// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetPostgreSQL
import FleetTokenServer

extension CommandFailure {
    /// A token server's store that cannot be used.
    init(store error: TokenServerError) {
        let status: Status =
            switch error.code {
            case .storeUnreachable: .unreachable
            case .wrongClock: .failed
            default: .configuration
            }
        self.init(status: status, message: error.message)
    }

    /// A database that did not take what a command changes or reads.
    init(database error: PostgreSQLError) {
        let next =
            if error.sqlState == "25006" {
                "Name the server that takes changes, or retry when this one does."
            } else if error.isOutage {
                "Retry when the database serves again."
            } else {
                "Mend the address or the database; docs/postgresql.md tells what it needs."
            }
        self.init(
            status: error.isOutage ? .unreachable : .configuration,
            message: "the store: \(error.message) \(next)")
    }
}

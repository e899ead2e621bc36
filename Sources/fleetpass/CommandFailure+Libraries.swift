// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngine
import FleetOperation
import FleetPostgreSQL
import FleetTokenServer

extension CommandFailure {
    /// What an error of a command or of the libraries ends the program with; `nil` for one that says nothing of that.
    init?(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let error as TokenServerError: self.init(store: error)
        case let error as EngineError: self.init(engineStore: error)
        case let error as ConfigurationError: self.init(status: .configuration, message: error.message)
        case let error as PostgreSQLError: self.init(database: error)
        default: return nil
        }
    }

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

    /// An engine's store that cannot be used, for now or before something is mended.
    private init(engineStore error: EngineError) {
        self.init(status: error.code == .unavailable ? .unreachable : .configuration, message: error.message)
    }

    /// Makes a change in a store.
    ///
    /// - Parameters:
    ///   - look: Which commands show whether it was made.
    ///   - body: Makes it.
    /// - Returns: What the body returns.
    /// - Throws: ``CommandFailure`` where it is not known whether the change was made, or what the body throws.
    static func changing<Result>(seenBy look: String, _ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as PostgreSQLError where error.leavesOutcomeOpen {
            throw Self(
                status: .unreachable,
                message: "the store: \(error.message) It is not known whether the change was made; look with \(look) "
                    + "before you make it again.")
        }
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

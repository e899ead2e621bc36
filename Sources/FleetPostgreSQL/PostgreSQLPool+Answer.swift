// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Logging

extension PostgreSQLPool {
    /// Looks whether a database answers, by a connection of its own, so that no log hears of it.
    ///
    /// - Parameter text: Its address; what is wrong with that is no matter of this.
    /// - Throws: ``PostgreSQLError`` of an outage; whatever else keeps one from a use is found by that use.
    package static func checkAnswer(of text: String) async throws(PostgreSQLError) {
        guard let address = try? PostgreSQLAddress(text) else { return }
        let logger = Logger(label: "fleetpass") { _ in SwiftLogNoOpLogHandler() }
        let pool = PostgreSQLPool(address, connections: 1, logger: logger)
        var problem: PostgreSQLError?
        do {
            try await pool.run { _ in }
        } catch {
            problem = error as? PostgreSQLError
        }
        await pool.close()
        if let problem, problem.isOutage { throw problem }
    }
}

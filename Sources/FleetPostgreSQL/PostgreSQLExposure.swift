// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging

/// What a connection to a database on another machine leaves open to whoever is on the way there.
package struct PostgreSQLExposure: Sendable {
    /// What was found, on one line and without secrets.
    package let problem: String
    /// What to do about it.
    package let next =
        "Add sslmode=verify-full&sslrootcert=FILE to the address, where FILE has the authority of the server's certificate."

    /// Judges a connection; there is nothing to tell where nobody is on the way, or where the certificate was checked.
    ///
    /// - Parameters:
    ///   - host: The address at the other end; empty for a socket of this machine.
    ///   - mode: The option `sslmode`, as it holds.
    ///   - authority: The option `sslrootcert`; empty for libpq's own file.
    ///   - isGSSAPI: Whether GSSAPI encrypts it, by which both ends know each other.
    init?(host: String, mode: String, authority: String, isGSSAPI: Bool) {
        let isNear = host.isEmpty || host == "::1" || ["127.", "::ffff:127."].contains { host.hasPrefix($0) }
        let file = authority.isEmpty ? "\(NSHomeDirectory())/.postgresql/root.crt" : authority
        // With an authority at hand, libpq takes the one for the other (its documentation, "SSL Support").
        let isChecked =
            mode.hasPrefix("verify-") || mode == "require" && FileManager.default.fileExists(atPath: file)
        guard !isNear, !isGSSAPI, !isChecked else { return nil }
        let lack = mode == "require" ? "does not insist on" : "insists neither on encryption nor on"
        self.problem =
            "PostgreSQL at \(host) is reached over a network, and sslmode=\(mode) \(lack) a "
            + "check of who answers."
    }

    /// Looks how a database is reached.
    ///
    /// - Parameter text: Its address.
    /// - Returns: What its connections leave open; `nil` also where the text is no address or nobody answers.
    package static func found(at text: String) async -> Self? {
        guard let address = try? PostgreSQLAddress(text) else { return nil }
        let logger = Logger(label: "fleetpass") { _ in SwiftLogNoOpLogHandler() }
        let pool = PostgreSQLPool(address, connections: 1, logger: logger)
        let exposure = try? await pool.run { $0.exposure }
        await pool.close()
        return exposure
    }
}

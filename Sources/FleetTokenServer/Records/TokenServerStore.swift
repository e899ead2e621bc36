// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB

/// The token server's SQLite file: the audit, the revocations and the assignments.
///
/// Commits are durable when they return. Several processes may open the file at once, such as a running server and a
/// command that reads its audit.
public struct TokenServerStore: Sendable {
    let pool: DatabasePool
    /// Where the file is.
    public let path: String

    /// Opens the file, and makes it where it is missing.
    ///
    /// - Parameter path: The file; its folder must exist.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/storeUnavailable`` that says what to mend.
    public init(creatingAt path: String) throws(TokenServerError) {
        if !FileManager.default.fileExists(atPath: path) {
            // It tells who may see whom; SQLite's side files follow its mode.
            _ = FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
        }
        try self.init(openingAt: path)
    }

    /// Opens a file that exists.
    ///
    /// - Parameter path: The file.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/storeUnavailable`` that says what to mend.
    public init(openingAt path: String) throws(TokenServerError) {
        func unavailable(_ message: String) -> TokenServerError {
            TokenServerError(code: .storeUnavailable, message: "The token server's store \(path) \(message)")
        }
        guard FileManager.default.fileExists(atPath: path) else {
            throw unavailable("is missing or cannot be made; name a file in a folder that exists and is writable.")
        }
        self.path = path
        do {
            var configuration = Configuration()
            configuration.label = "fleetpass.token-store"
            configuration.busyMode = .timeout(5)
            let pool = try DatabasePool(path: path, configuration: configuration)
            // Set after opening: switching to WAL lowers it, and a commit must have reached the disk.
            try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
            guard try !pool.read(TokenServerSchema.migrator.hasBeenSuperseded) else {
                throw unavailable("was written by a newer version; run that version.")
            }
            try TokenServerSchema.migrator.migrate(pool)
            self.pool = pool
        } catch let error as TokenServerError {
            throw error
        } catch {
            throw unavailable("cannot be opened: \(error). Make it readable and writable, or name another.")
        }
    }

    /// Whether the file can be read now.
    public func isReadable() async -> Bool {
        (try? await self.pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM audit_head") }) == 1
    }

    /// Closes the file.
    ///
    /// - Throws: An error of SQLite.
    public func close() throws { try self.pool.close() }
}

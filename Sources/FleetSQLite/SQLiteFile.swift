// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
package import GRDB

/// A SQLite file that is only looked at, which others may be writing.
package enum SQLiteFile {
    /// Opens a file to read it; neither the file nor a log beside it is changed.
    ///
    /// - Parameter path: The file.
    /// - Returns: The open file.
    /// - Throws: An error of SQLite.
    package static func reader(of path: String) throws -> DatabaseQueue {
        // SQLite looks beside the file that a link leads to.
        let file = URL(filePath: path).absoluteURL.resolvingSymlinksInPath()
        let real = file.path(percentEncoded: false)
        let isAlone = !["-wal", "-journal"].contains { FileManager.default.fileExists(atPath: real + $0) }
        let isWritable = [real, file.deletingLastPathComponent().path(percentEncoded: false)].allSatisfy {
            FileManager.default.isWritableFile(atPath: $0)
        }
        var configuration = Configuration.patient
        // What SQLite makes beside a file that is alone, only a connection that may write takes away at its end.
        configuration.readonly = !(isAlone && isWritable)
        // Where it can make nothing, it has to be told that nobody writes: whoever did would have a log there.
        let place = isAlone && !isWritable ? file.absoluteString + "?immutable=1" : path
        return try DatabaseQueue(path: place, configuration: configuration)
    }

    /// Looks once at what a file holds, before it is opened to be changed.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - isMended: Whether what a killed program left half written in it is rolled back; it is not changed otherwise.
    ///   - body: Looks at it.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws, or an error of SQLite: `SQLITE_READONLY_ROLLBACK` where the file would have to be
    ///   mended.
    package static func look<Result>(
        at path: String, isMended: Bool, _ body: (Database) throws -> Result
    ) throws -> Result {
        func result(of queue: DatabaseQueue) throws -> Result {
            defer { try? queue.close() }
            return try queue.read(body)
        }
        do {
            return try result(of: try self.reader(of: path))
        } catch let error as DatabaseError where isMended && error.extendedResultCode == .SQLITE_READONLY_ROLLBACK {
            // SQLite mends it as soon as somebody reads who may write too.
            return try result(of: try DatabaseQueue(path: path, configuration: .patient))
        }
    }
}

extension DatabaseMigrator {
    /// Whether a database has nothing in it, as a server leaves it that was killed before it made the first table: the list
    /// of steps at most, without any.
    ///
    /// - Parameter database: The database.
    /// - Returns: Whether there is nothing.
    /// - Throws: An error of SQLite.
    package func findsNothing(in database: Database) throws -> Bool {
        let others = try Int.fetchOne(
            database, sql: "SELECT count(*) FROM sqlite_master WHERE tbl_name <> 'grdb_migrations'")
        return try others == 0 && self.appliedIdentifiers(database).isEmpty
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import GRDB
import GRDBSQLite

extension Database {
    /// Looks whether the store's file is still where it was opened, and whether the `-wal` was when somebody looked last.
    ///
    /// SQLite goes on with a file that nobody can reach any more, and what it keeps there is lost.
    ///
    /// - Parameter files: The store's files.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/storeReplaced``.
    func checkPlace(_ files: DatabaseFiles) throws(TokenServerError) {
        var hasMoved: CInt = 0
        let code = sqlite3_file_control(self.sqliteConnection, nil, SQLITE_FCNTL_HAS_MOVED, &hasMoved)
        // Who cannot tell, as a file system of its own kind, does not say that it did.
        guard code == SQLITE_OK && hasMoved != 0 || !files.areInPlace else { return }
        throw TokenServerError(missing: files)
    }

    /// Writes what the transaction has changed so far to the disk's files, where it may still be taken back.
    ///
    /// - Throws: `DatabaseError`, such as where the disk is full.
    func writeChangedPages() throws(DatabaseError) {
        let code = sqlite3_db_cacheflush(self.sqliteConnection)
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }
}

extension TokenServerError {
    /// A store whose files are not where they were when it was opened.
    init(missing files: DatabaseFiles) {
        self.init(
            code: .storeReplaced,
            message:
                "The token server's store \(files.path) is in use, and its file was removed or replaced, or the -wal "
                + "beside it; put that very file back, or restart what uses it.")
    }
}

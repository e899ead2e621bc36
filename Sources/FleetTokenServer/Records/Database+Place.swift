// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import GRDB
import GRDBSQLite

extension Database {
    /// Looks whether the store's file is still where it was opened.
    ///
    /// SQLite goes on with a file that nobody can reach any more, and what it keeps there is lost.
    ///
    /// - Parameter path: The store's file, for the message.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/storeReplaced``.
    func checkPlace(_ path: String) throws(TokenServerError) {
        var hasMoved: CInt = 0
        let code = sqlite3_file_control(self.sqliteConnection, nil, SQLITE_FCNTL_HAS_MOVED, &hasMoved)
        // Who cannot tell, as a file system of its own kind, does not say that it did.
        guard code == SQLITE_OK, hasMoved != 0 else { return }
        throw TokenServerError(
            code: .storeReplaced,
            message:
                "The token server's store \(path) is in use, and its file was removed or replaced; put that very file "
                + "back, or restart what uses it.")
    }
}

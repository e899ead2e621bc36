// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import GRDB
import GRDBSQLite

extension Database {
    /// Writes what the transaction has changed so far to the disk's files, where it may still be taken back.
    ///
    /// - Throws: `DatabaseError`, such as where the disk is full.
    func writeChangedPages() throws(DatabaseError) {
        let code = sqlite3_db_cacheflush(self.sqliteConnection)
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }
}

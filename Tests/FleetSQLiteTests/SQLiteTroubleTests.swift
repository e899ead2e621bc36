// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import GRDB
import Testing

@testable import FleetSQLite

@Suite struct SQLiteTroubleTests {
    @Test(arguments: [
        (ResultCode.SQLITE_FULL, false, SQLiteTrouble.full), (.SQLITE_IOERR_SHMSIZE, true, .full),
        (.SQLITE_BUSY, false, .busy), (.SQLITE_BUSY_RECOVERY, false, .busy), (.SQLITE_LOCKED, false, .busy),
        (.SQLITE_READONLY, false, .readOnly), (.SQLITE_READONLY_DIRECTORY, true, .readOnly),
        (.SQLITE_READONLY_CANTINIT, true, .readOnly), (.SQLITE_CANTOPEN, true, .readOnly),
        (.SQLITE_IOERR, true, .failingDisk("words")), (.SQLITE_IOERR_READ, false, .failingDisk("words")),
        (.SQLITE_CANTOPEN, false, .notOpened), (.SQLITE_PERM, true, .notOpened), (.SQLITE_NOTADB, true, .damaged),
        (.SQLITE_CORRUPT, false, .damaged), (.SQLITE_ERROR, true, .other), (.SQLITE_CONSTRAINT, false, .other),
    ])
    func `a code tells what is to be done, and a disk that can only be read is told whatever was left beside the file`(
        said: ResultCode, isReadOnly: Bool, trouble: SQLiteTrouble
    ) {
        let found = SQLiteTrouble(DatabaseError(resultCode: said, message: "words"), of: "/data/store") { path in
            #expect(path == "/data/store")
            return isReadOnly
        }
        #expect(found == trouble)
    }

    @Test(arguments: [
        (SQLiteTrouble.full, "it waits: its disk is full"), (.busy, "it waits: another process keeps it busy"),
        (.readOnly, "it waits: it can only be read"), (.failingDisk("/data/store"), "it waits: its disk fails"),
        (.notOpened, "it waits: its file cannot be opened"), (.damaged, "it waits: its file is damaged"),
        (.other, "it waits"),
    ])
    func `anybody may know what is the matter, and not where`(trouble: SQLiteTrouble, words: String) {
        #expect(trouble.told(after: "it waits") == words)
    }
}

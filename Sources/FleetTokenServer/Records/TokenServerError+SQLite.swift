// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import GRDB

extension TokenServerError {
    /// Tells what SQLite said, without its statements.
    ///
    /// - Parameters:
    ///   - error: What it said.
    ///   - path: The store's file.
    ///   - isReadOnly: Whether a file lies on a disk that can only be read.
    init(_ error: DatabaseError, of path: String, isReadOnly: (String) -> Bool = ReadOnlyDisk.holds) {
        let store = "The token server's store \(path)"
        let reason = error.message ?? "error \(error.extendedResultCode.rawValue)"
        switch error.extendedResultCode {
        // A full disk has no room for the memory that processes share, either.
        case .SQLITE_FULL, .SQLITE_IOERR_SHMSIZE:
            self.init(
                code: .storeUnreachable,
                message: "\(store) has no room on its disk; nothing in it was changed. Make room, and retry.")
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            self.init(
                code: .storeUnreachable,
                message:
                    "\(store) is kept busy by another process; nothing in it was changed. Retry when that is through.")
        case .SQLITE_READONLY,
            // Where nothing can be made beside a file, it depends on what was left there which of the two is said.
            .SQLITE_CANTOPEN where isReadOnly(path):
            self.init(
                code: .storeUnreachable,
                message:
                    "\(store) can only be read; nothing in it was changed. Make it, what is beside it and their disk "
                    + "writable for this user, and retry.")
        case .SQLITE_IOERR:
            self.init(
                code: .storeUnreachable, message: "\(store) is on a disk that fails: \(reason). Mend that, and retry.")
        case .SQLITE_CORRUPT, .SQLITE_NOTADB:
            self.init(
                code: .storeUnavailable, message: "\(store) is damaged: \(reason). Put back a backup of it.")
        case .SQLITE_CANTOPEN, .SQLITE_PERM:
            self.init(
                code: .storeUnavailable,
                message:
                    "\(store) cannot be opened: \(reason). Make it, what is beside it and its folder readable and "
                    + "writable for this user, or name another.")
        default:
            self.init(
                code: .storeUnavailable,
                message: "\(store) cannot be used: \(reason). Put back a backup of it, or name another.")
        }
    }
}

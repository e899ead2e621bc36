// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSQLite
import GRDB

extension TokenServerError {
    /// Tells what SQLite said, without its statements.
    ///
    /// - Parameters:
    ///   - error: What it said.
    ///   - path: The store's file.
    init(_ error: DatabaseError, of path: String) {
        let store = "The token server's store \(path)"
        let trouble = SQLiteTrouble(error, of: path)
        defer { self.trouble = trouble }
        if let passing = trouble.passing {
            self.init(code: .storeUnreachable, message: "\(store) \(passing)")
            return
        }
        let mending =
            switch trouble {
            case .damaged: "is damaged or no database: \(error.reason). Put back a backup of it, or name another."
            case .notOpened:
                "cannot be opened: \(error.reason). Make it, what is beside it and its folder readable and writable for "
                    + "this user, or name another."
            default: "cannot be used: \(error.reason). Put back a backup of it, or name another."
            }
        self.init(code: .storeUnavailable, message: "\(store) \(mending)")
    }

    /// A store whose files are not where they were when it was opened.
    init(_ error: DurableDatabase.FileMoved) {
        self.init(
            code: .storeReplaced,
            message:
                "The token server's store \(error.path) is in use, and its file \(error.event); put that very "
                + "file back, or restart what uses it.")
    }
}

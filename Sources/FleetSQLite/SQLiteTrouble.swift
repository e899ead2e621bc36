// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import GRDB

/// What keeps a SQLite file from its use, by what is to be done about it.
package enum SQLiteTrouble: Error, Hashable, Sendable {
    /// There is no room on the disk.
    case full
    /// Another process has the file, and kept it for too long.
    case busy
    /// The file, what is beside it or their disk can only be read, such as one that its system mounted anew after an error.
    case readOnly
    /// The disk fails, for a reason that SQLite gives.
    case failingDisk(String)
    /// The file, what is beside it or their folder is missing, or this user lacks a right.
    case notOpened
    /// It is no database, or a damaged one.
    case damaged
    /// Anything else.
    case other

    /// Tells what an error is about.
    ///
    /// - Parameters:
    ///   - error: What SQLite said.
    ///   - path: The file.
    ///   - isReadOnly: Whether a file lies on a disk that can only be read.
    package init(_ error: DatabaseError, of path: String, isReadOnly: (String) -> Bool = ReadOnlyDisk.holds) {
        self =
            switch error.extendedResultCode {
            // A full disk has no room for the memory that processes share, either.
            case .SQLITE_FULL, .SQLITE_IOERR_SHMSIZE: .full
            case .SQLITE_BUSY, .SQLITE_LOCKED: .busy
            // Where nothing can be made beside a file, it depends on what was left there which of the two is said.
            case .SQLITE_READONLY,
                .SQLITE_CANTOPEN where isReadOnly(path):
                .readOnly
            case .SQLITE_IOERR: .failingDisk(error.reason)
            case .SQLITE_CANTOPEN, .SQLITE_PERM: .notOpened
            case .SQLITE_NOTADB, .SQLITE_CORRUPT: .damaged
            default: .other
            }
    }

    /// Tells it to anybody, in a few fixed words.
    ///
    /// - Parameter words: What the store does not do for it.
    /// - Returns: These words, with the reason where there is more to tell.
    package func told(after words: String) -> String {
        switch self {
        case .full: "\(words): its disk is full"
        case .busy: "\(words): another process keeps it busy"
        case .readOnly: "\(words): it can only be read"
        case .failingDisk: "\(words): its disk fails"
        case .notOpened: "\(words): its file cannot be opened"
        case .damaged: "\(words): its file is damaged"
        case .other: words
        }
    }

    /// What may pass and how, as it follows `The store PATH`; `nil` where something is to be mended first.
    package var passing: String? {
        switch self {
        case .full: "has no room on its disk; nothing in it was changed. Make room, and retry."
        case .busy: "is kept busy by another process; nothing in it was changed. Retry when that is through."
        case .readOnly:
            "can only be read; nothing in it was changed. Make it, what is beside it and their disk writable for this "
                + "user, and retry."
        case .failingDisk(let reason): "is on a disk that fails: \(reason). Mend that, and retry."
        case .notOpened, .damaged, .other: nil
        }
    }
}

extension DatabaseError {
    /// What SQLite said, without its statements.
    package var reason: String { self.message ?? "error \(self.extendedResultCode.rawValue)" }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSQLite
import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What keeps a store's file to one process.
///
/// The lock is on a file of its own beside the store, as SQLite's locks on the store itself end when any descriptor
/// of it is closed. It keeps nobody who finds another file there, so that file is watched as the store's own is.
enum StoreFileLock {
    /// What the file's name has that the store's has not.
    static let ending = "-lock"

    /// Takes the lock.
    ///
    /// - Parameter path: The store's file; its folder must exist.
    /// - Returns: The lock.
    /// - Throws: ``EngineError`` with `STORE_BUSY` where another holds it, or with `STORE_READ_ONLY`, `STORE_FULL` or
    ///   `STORE_NOT_WRITABLE` where there is none to be had: without it, two processes would each go by what they
    ///   remember, and not by what the other changed.
    static func take(_ path: String) throws(EngineError) -> FileLock {
        // Whatever links lead to the store's file, there is one lock.
        let file = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false) + self.ending
        do throws(SystemRefusal) {
            return try FileLock(file)
        } catch {
            guard error.number == EWOULDBLOCK else { throw Self.failure(error.number, locking: file, of: path) }
            throw EngineError(
                code: .unavailable,
                reason: "STORE_BUSY",
                message: "The store \(path) is in use by another process; stop that process or name another file."
            )
        }
    }

    /// Tells why there is no lock to be had.
    ///
    /// - Parameters:
    ///   - problem: The system's error.
    ///   - file: The file that cannot be locked.
    ///   - path: The store's file.
    /// - Returns: An error with `UNAVAILABLE` where it may pass, and with `FAILED_PRECONDITION` where something is to be
    ///   mended first.
    static func failure(_ problem: CInt, locking file: String, of path: String) -> EngineError {
        let trouble: SQLiteTrouble =
            switch problem {
            case EROFS: .readOnly
            case ENOSPC, EDQUOT: .full
            default: .notOpened
            }
        return EngineError(passing: trouble, of: path)
            ?? EngineError(
                code: .failedPrecondition,
                reason: "STORE_NOT_WRITABLE",
                message: "The store \(path) cannot be kept from other processes, as \(file) cannot be locked "
                    + "(\(String(cString: strerror(problem)))); create its folder and make both writable."
            )
    }
}

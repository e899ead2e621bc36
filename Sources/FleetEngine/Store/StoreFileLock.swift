// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Keeps a store's file to one process, until it is released or the process ends, however it does.
///
/// The lock is on a file of its own beside the store, as SQLite's locks on the store itself end when any descriptor
/// of it is closed.
final class StoreFileLock: Sendable {
    private let descriptor: Locked<CInt?>

    /// Takes the lock.
    ///
    /// - Parameter path: The store's file; its folder must exist.
    /// - Throws: ``EngineError`` with `STORE_BUSY` where another holds it. A folder that cannot be written to is left
    ///   to the store to report.
    init(_ path: String) throws(EngineError) {
        let descriptor = open("\(path)-lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        self.descriptor = Locked(descriptor >= 0 ? descriptor : nil)
        guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK else { return }
        self.release()
        throw EngineError(
            code: .unavailable,
            reason: "STORE_BUSY",
            message: "The store \(path) is in use by another process; stop that process or name another file."
        )
    }

    deinit { self.release() }

    /// Gives the lock back; later calls do nothing.
    func release() {
        let held = self.descriptor.withLock { descriptor in
            defer { descriptor = nil }
            return descriptor
        }
        guard let held else { return }
        // A child between its fork and its exec has the descriptor too, and would keep the lock.
        flock(held, LOCK_UN)
        close(held)
    }
}

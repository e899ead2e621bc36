// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
package import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Keeps others from a file or folder, in this process and in others, until it is released or the process ends, however
/// it does.
package final class FileLock: Sendable {
    private let descriptor: Locked<CInt?>

    /// Takes the lock on a file, which is never reached by a link.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - isMade: Whether the file is made where it is missing, for this user alone.
    /// - Throws: ``SystemRefusal``, with `EWOULDBLOCK` where another has the lock.
    package init(_ path: String, isMade: Bool = true) throws(SystemRefusal) {
        let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (isMade ? O_CREAT : 0), 0o600)
        guard descriptor >= 0 else { throw SystemRefusal() }
        self.descriptor = Locked(descriptor)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let refusal = SystemRefusal()
            self.release()
            throw refusal
        }
    }

    /// Takes the lock on a folder itself, and waits for whoever has it.
    ///
    /// - Parameter path: The folder, which may be a link to one.
    /// - Throws: ``SystemRefusal``.
    package init(folder path: String) throws(SystemRefusal) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemRefusal() }
        self.descriptor = Locked(descriptor)
        while flock(descriptor, LOCK_EX) != 0 {
            let refusal = SystemRefusal()
            if refusal.number == EINTR { continue }
            self.release()
            throw refusal
        }
    }

    deinit { self.release() }

    /// Writes what the file holds, in place of what it held.
    ///
    /// - Parameter bytes: The bytes, few enough for one write.
    /// - Throws: ``SystemRefusal`` where they are not written as a whole.
    package func write(_ bytes: Data) throws(SystemRefusal) {
        let refusal = self.descriptor.withLock { descriptor -> SystemRefusal? in
            guard let descriptor, ftruncate(descriptor, 0) == 0,
                bytes.withUnsafeBytes({ pwrite(descriptor, $0.baseAddress, $0.count, 0) }) == bytes.count
            else { return SystemRefusal() }
            return nil
        }
        if let refusal { throw refusal }
    }

    /// Gives the lock back; later calls do nothing.
    package func release() {
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

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The files of a store as they were when it was opened, to tell when their names lead elsewhere.
///
/// SQLite goes on with files that nobody can reach any more, and what it keeps there is lost. It never puts others in their
/// places itself while the store is open.
struct StoreFile: Sendable {
    /// What tells a file from all others of this machine.
    private struct Identity: Hashable, Sendable {
        let device: UInt64
        let number: UInt64

        /// Looks at a file; `nil` where there is none.
        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            self.device = UInt64(truncatingIfNeeded: status.st_dev)
            self.number = UInt64(truncatingIfNeeded: status.st_ino)
        }
    }

    private let path: String
    private let opened: [String: Identity]

    /// Takes note of the files of a store that is open.
    ///
    /// - Parameter path: The store; where it is a link, what SQLite keeps beside it is elsewhere, and is not looked at.
    init(_ path: String) {
        self.path = path
        self.opened = ["", "-wal"].reduce(into: [:]) { $0[path + $1] = Identity(path + $1) }
    }

    /// Looks whether the files are still those that were opened.
    ///
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/storeReplaced``.
    func check() throws(TokenServerError) {
        for (path, identity) in self.opened where Identity(path) != identity {
            throw TokenServerError(
                code: .storeReplaced,
                message:
                    "The token server's store \(self.path) is in use, and its file \(path) was removed or replaced; put "
                    + "that very file back, or restart what uses it.")
        }
    }
}

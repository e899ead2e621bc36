// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FleetTokens
import Foundation

/// The file of an open SQLite database, and those beside it that stay as long as somebody has the database open: the
/// `-wal`, the `-shm`, and what else its user has there.
///
/// SQLite goes on with files that were removed or replaced, and what it keeps there is lost: whoever opens the database
/// later finds others, and knows nothing of what is written by these. It tells of the file itself when it is asked, and
/// of those beside it never.
package final class DatabaseFiles: Sendable {
    /// What tells a file from all others that there are.
    private struct Identity: Hashable, Sendable {
        let device: UInt64
        let number: UInt64

        init?(ofFileAt path: String) {
            guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
                let device = attributes[.systemNumber] as? NSNumber,
                let number = attributes[.systemFileNumber] as? NSNumber
            else { return nil }
            self.device = device.uint64Value
            self.number = number.uint64Value
        }
    }

    private struct State: Sendable {
        /// What was there at first; what was not cannot be missed.
        var opened: [String: Identity] = [:]
        /// Whether some of it was not there when somebody looked last.
        var isMissed = false
    }

    /// What the names of those beside every database's file end in.
    package static let endings = ["-wal", "-shm"]

    /// The database's file, as it was named.
    package let path: String
    /// What the names of those beside it end in.
    let endings: [String]
    private let log: String
    private let index: String
    private let state: Locked<State>

    /// Takes note of the files.
    ///
    /// - Parameters:
    ///   - path: The database's file; the database is open, and was looked at or changed.
    ///   - others: What the names of those end in that its user has beside it, besides ``endings``.
    init(of path: String, and others: [String]) {
        self.path = path
        self.endings = Self.endings + others
        // SQLite keeps the other files beside the one that a link leads to.
        let file = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
        self.log = file + "-wal"
        self.index = file + "-shm"
        var state = State()
        for name in [file] + self.endings.map({ file + $0 }) { state.opened[name] = Identity(ofFileAt: name) }
        self.state = Locked(state)
    }

    /// The bytes of the `-wal`; 0 where there is none.
    package var logBytes: Int64 {
        let attributes = try? FileManager.default.attributesOfItem(atPath: self.log)
        return (attributes?[.size] as? NSNumber)?.int64Value ?? 0
    }

    /// Whether somebody who opened the database since has another `-shm`, and so writes to the `-wal` without a regard to
    /// what is written there by these.
    var isIndexedAnew: Bool {
        guard let index = Identity(ofFileAt: self.index) else { return false }
        return self.state.withLock { $0.opened[self.index].map { $0 != index } ?? false }
    }

    /// Misses nothing any more, as whoever closes the database last removes those beside it.
    func end() { self.state.withLock { $0 = State() } }

    /// Looks at the files, which takes some 30 microseconds, or as long as the disk does.
    ///
    /// - Returns: Whether each is the one that was there at first.
    func look() async -> Bool {
        await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
            // No thread of the concurrency runtime waits for a disk.
            DispatchQueue.global().async { continuation.resume(returning: self.areThere()) }
        }
    }

    /// Whether each was the one that was there at first when somebody looked last, or is again; may wait for the disk
    /// where it was not.
    var areInPlace: Bool { !self.state.withLock { $0.isMissed } || self.areThere() }

    private func areThere() -> Bool {
        let opened = self.state.withLock { $0.opened }
        let isMissed = opened.contains { Identity(ofFileAt: $0.key) != $0.value }
        return self.state.withLock { state in
            // Nothing is, where the database was closed meanwhile.
            state.isMissed = isMissed && !state.opened.isEmpty
            return !state.isMissed
        }
    }
}

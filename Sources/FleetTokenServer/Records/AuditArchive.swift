// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB

/// Writes the first records of a chain to a SQLite file, which ``AuditReader`` reads as any store.
struct AuditArchive {
    /// How many records are copied at once, each time with one sync of the disk.
    private static let portion = 4000

    let source: any TokenServerDatabase

    /// Writes records to an empty file, and reads them there again.
    ///
    /// - Parameters:
    ///   - span: The records, which are checked on the way.
    ///   - path: The file, which is there.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/storeUnavailable`` that says what to mend, or with
    ///   ``TokenServerError/Code/recordsArchived`` where another archive has them by now; ``AuditFault`` where the chain
    ///   does not hold, or an error of the store.
    func write(_ span: AuditSpan, to path: String) async throws {
        let archive = TokenServerStore(try SQLiteTokenDatabase(path, for: .making))
        do {
            try await self.fill(archive.database, span)
        } catch {
            try? archive.close()
            throw error
        }
        try archive.close()
        try Self.settle(path)
        try await Self.check(path, holds: span)
    }

    private func fill(_ archive: any TokenServerDatabase, _ span: AuditSpan) async throws {
        // The store vouches for the start.
        var chain = try AuditChain(after: span.start, anchors: [span.start])
        try await archive.write { database in
            let start: [StoreValue] = [.integer(span.start.sequence), .text(span.start.hash)]
            try database.execute("UPDATE audit_start SET sequence = ?, hash = ?", start)
        }
        while chain.head.sequence < span.head.sequence {
            let wanted = chain.head.sequence + 1...span.head.sequence
            let entries = try await self.source.read { database in
                try AuditReader.entries(AuditQuery(), within: wanted, atMost: Self.portion, in: database)
            }
            guard !entries.isEmpty else { break }
            for entry in entries { try chain.check(entry) }
            let head = chain.head
            try await archive.write { try $0.append(entries, head: head) }
        }
        try chain.finish(AuditSpan(start: span.start, head: span.head, isArchive: true))
        try await archive.write { _ = try $0.execute("UPDATE audit_start SET is_archive = 1", []) }
    }

    /// Makes one file of a closed store, which needs none beside it to be read.
    private static func settle(_ path: String) throws {
        // SQLite would make a new one.
        guard FileManager.default.fileExists(atPath: path) else {
            throw Self.unmoved("\(path) was removed while the archive was written to it")
        }
        do {
            let queue = try DatabaseQueue(path: path)
            try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = DELETE") }
            try queue.close()
        } catch let error as DatabaseError {
            throw TokenServerError(error, of: path)
        }
    }

    /// Reads the file as whoever uses the archive does, since the records leave the store for it.
    private static func check(_ path: String, holds span: AuditSpan) async throws {
        let found: AuditSpan
        do {
            let archive = try TokenServerStore(readingAt: path)
            defer { try? archive.close() }
            found = try await AuditReader(store: archive).verify(anchor: span.start)
        } catch let error where !(error is CancellationError) {
            throw Self.unmoved("\(path) cannot be read as it was written: \(error)")
        }
        guard found == span else {
            throw Self.unmoved("\(path) holds the records from \(found.start) to \(found.head), not to \(span.head)")
        }
    }

    private static func unmoved(_ reason: String) -> TokenServerError {
        TokenServerError(code: .storeUnavailable, message: "Nothing was moved: \(reason).")
    }
}

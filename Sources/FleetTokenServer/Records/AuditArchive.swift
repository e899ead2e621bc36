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

    /// Writes records to a file that does not exist; it is there when it is whole and on the disk.
    ///
    /// - Parameters:
    ///   - span: The records, which are checked on the way.
    ///   - path: The file.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/storeUnavailable`` that says what to mend,
    ///   ``AuditFault`` where the chain does not hold, or an error of the store; there is no file then.
    func write(_ span: AuditSpan, to path: String) async throws {
        guard !FileManager.default.fileExists(atPath: path) else {
            throw Self.unavailable("The archive \(path) exists; name a new file.")
        }
        let unfinished = path + ".unfinished"
        Self.remove(unfinished)
        do {
            let archive = try TokenServerStore(creatingAt: unfinished)
            do {
                try await self.fill(archive.database, span)
            } catch {
                try? archive.close()
                throw error
            }
            try archive.close()
            try Self.settle(unfinished)
            try Self.sync(unfinished)
            try FileManager.default.moveItem(atPath: unfinished, toPath: path)
            try Self.sync(URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false))
        } catch {
            Self.remove(unfinished)
            throw error
        }
    }

    private func fill(_ archive: any TokenServerDatabase, _ span: AuditSpan) async throws {
        var chain = try AuditChain(after: span.start)
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
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = DELETE") }
        try queue.close()
    }

    private static func sync(_ path: String) throws {
        let file = open(path, O_RDONLY)
        defer { close(file) }
        guard file >= 0, fsync(file) == 0 else {
            throw self.unavailable(
                "The archive's \(path) cannot be brought to the disk: \(String(cString: strerror(errno))).")
        }
    }

    private static func remove(_ path: String) {
        for ending in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + ending) }
    }

    private static func unavailable(_ message: String) -> TokenServerError {
        TokenServerError(code: .storeUnavailable, message: message)
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The file that an archive is written to before it has the archive's name; it is beside that, for this user alone.
///
/// One run at a time has it, by a lock on another file that ends with the process, however that ends. What runs that were
/// killed left in the folder is removed by the next.
final class AuditArchiveDraft: Sendable {
    private static let ending = ".unfinished"
    private static let lockEnding = "-lock"

    /// The file, which is empty at first.
    let path: String
    private let archive: String
    private let lock: FileLock

    private var folder: String { Self.folder(of: self.archive) }

    /// Makes the draft of an archive that does not exist.
    ///
    /// - Parameter archive: The archive's file.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/storeUnavailable`` that says what to mend.
    init(of archive: String) throws(TokenServerError) {
        if let problem = PathProblem.making(file: archive) {
            throw Self.unmade(archive, "\(problem). Name a file in a folder that exists and is writable")
        }
        // A link that leads nowhere is in the way too.
        guard Self.number(ofFileAt: archive) == nil else { throw Self.exists(archive) }
        let path = archive + Self.ending
        do throws(SystemRefusal) {
            Self.removeAbandoned(in: Self.folder(of: archive))
            let lock = try Self.lock(path + Self.lockEnding, isMade: true)
            do throws(SystemRefusal) {
                Self.removeFiles(of: path)
                try PrivateFile.make(at: path)
            } catch {
                unlink(path + Self.lockEnding)
                lock.release()
                throw error
            }
            self.path = path
            self.archive = archive
            self.lock = lock
        } catch {
            let isTaken = error.number == EWOULDBLOCK
            throw Self.unmade(archive, isTaken ? "another run writes it; wait for that" : error.description)
        }
    }

    /// Gives the draft, which is whole, the archive's name too, and returns when both are on the disk.
    ///
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/storeUnavailable`` that says what to mend; a file that
    ///   has the name by now is left alone.
    func place() throws(TokenServerError) {
        do throws(SystemRefusal) {
            try PrivateFile.settle(self.path)
            // A link never takes another file's place.
            guard link(self.path, self.archive) == 0 else { throw SystemRefusal() }
        } catch {
            throw error.number == EEXIST ? Self.exists(self.archive) : Self.unmade(self.archive, error.description)
        }
        do throws(SystemRefusal) {
            try PrivateFile.settle(self.folder)
        } catch {
            self.takeBack()
            throw Self.unmade(self.archive, error.description)
        }
    }

    /// Takes the archive's name from the draft; a file that has the name in its stead is left alone.
    func takeBack() {
        if Self.number(ofFileAt: self.archive) == Self.number(ofFileAt: self.path) { unlink(self.archive) }
    }

    /// Removes the draft; the archive stays where it was placed.
    func remove() {
        Self.removeFiles(of: self.path)
        unlink(self.path + Self.lockEnding)
    }
}

extension AuditArchiveDraft {
    /// Takes the lock that says who has a draft, with a mark in it that is this run's alone.
    ///
    /// - Parameters:
    ///   - path: The lock's file.
    ///   - isMade: Whether the file is made where it is missing.
    /// - Returns: The lock.
    /// - Throws: ``SystemRefusal`` with `EWOULDBLOCK` where another has it.
    private static func lock(_ path: String, isMade: Bool) throws(SystemRefusal) -> FileLock {
        let mark = Data(UUID().uuidString.utf8)
        while true {
            let lock = try FileLock(path, isMade: isMade)
            try lock.write(mark)
            // One that was removed meanwhile, by the run that had it, keeps nobody out: the path leads elsewhere.
            let found = FileManager.default.contents(atPath: path)
            if found == mark { return lock }
            let refusal = SystemRefusal()
            lock.release()
            guard found != nil || Self.number(ofFileAt: path) == nil else { throw refusal }
        }
    }

    private static func removeAbandoned(in folder: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for name in names where name.hasSuffix(self.ending + self.lockEnding) {
            let path = "\(folder)/\(name.dropLast(self.lockEnding.count))"
            // A run that begins has no draft before it has the lock, which must not be taken from it.
            guard self.number(ofFileAt: path) != nil,
                let lock = try? self.lock(path + self.lockEnding, isMade: false)
            else { continue }
            self.removeFiles(of: path)
            unlink(path + self.lockEnding)
            lock.release()
        }
    }

    /// Removes a draft and what SQLite keeps beside it.
    private static func removeFiles(of path: String) {
        for ending in ["", "-journal", "-shm", "-wal"] { unlink(path + ending) }
    }

    /// What tells a file or a link from all others of its folder; `nil` where there is none.
    private static func number(ofFileAt path: String) -> Int? {
        (try? FileManager.default.attributesOfItem(atPath: path))?[.systemFileNumber] as? Int
    }

    private static func folder(of file: String) -> String {
        URL(filePath: file).absoluteURL.deletingLastPathComponent().path(percentEncoded: false)
    }

    private static func exists(_ archive: String) -> TokenServerError {
        TokenServerError(code: .storeUnavailable, message: "The archive \(archive) exists; name a new file.")
    }

    private static func unmade(_ archive: String, _ reason: String) -> TokenServerError {
        TokenServerError(code: .storeUnavailable, message: "The archive \(archive) cannot be made: \(reason).")
    }
}

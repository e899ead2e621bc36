// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
public import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Keeps tokens as files that only their owner may read.
///
/// Each subject has one file (mode 0600) in a folder of the store's own (mode 0700), named by a hash, so that names tell
/// nothing. A file is replaced in one step, so another process sees the old token or the new one. The files are not
/// encrypted: on Apple's systems prefer ``KeychainTokenStore``, or keep the folder out of backups yourself.
///
/// An app and its extension share a store by giving the same folder, in the container of their app group.
public struct FileTokenStore: TokenStore {
    private static let suffix = ".token"
    /// The age in seconds beyond which no process is still writing a half-written file.
    private static let longestWrite: TimeInterval = 60

    private let folder: URL
    private let capacity: Int

    /// Names the folder; nothing is read or made yet.
    ///
    /// - Parameters:
    ///   - folder: A folder for this store alone; it is made when the first token is saved.
    ///   - capacity: How many tokens are kept, at least one; those saved longest ago go first.
    public init(folder: URL, capacity: Int = 32) {
        self.folder = folder
        self.capacity = max(capacity, 1)
    }

    /// Reads a subject's file.
    public func load(_ subject: TokenSubject) throws(TokenClientError) -> StoredToken? {
        guard let mode = Self.mode(of: self.folder) else { return nil }
        try self.checkPrivacy(mode)
        guard let bytes = try self.read(self.file(of: subject)) else { return nil }
        return try StoredToken(serialized: bytes)
    }

    /// Replaces a subject's file.
    public func save(_ token: StoredToken, for subject: TokenSubject) throws(TokenClientError) {
        try self.makeFolder()
        try self.write(token.serialized, to: self.file(of: subject))
        let files = try self.files()
        for file in files.dropLast(self.capacity) { try self.remove(file) }
    }

    /// Removes a subject's file.
    public func remove(_ subject: TokenSubject) throws(TokenClientError) {
        try self.remove(self.file(of: subject))
    }

    /// Removes every file of the store, also half-written ones; the folder stays.
    public func removeAll() throws(TokenClientError) {
        for file in try self.files() { try self.remove(file) }
    }
}

// MARK: - Files

extension FileTokenStore {
    private func file(of subject: TokenSubject) -> URL {
        self.folder.appendingPathComponent(subject.storeKey.utf8.sha256Hex + Self.suffix)
    }

    /// The store's files, the oldest first; before all others the half-written ones that an ended process left behind.
    private func files() throws(TokenClientError) -> [URL] {
        guard Self.mode(of: self.folder) != nil else { return [] }
        do {
            let now = Date()
            let names = try FileManager.default.contentsOfDirectory(atPath: self.folder.path)
            let dated = names.filter { $0.contains(Self.suffix) }.map { name in
                let file = self.folder.appendingPathComponent(name)
                let attributes = try? FileManager.default.attributesOfItem(atPath: file.path)
                let date = attributes?[.modificationDate] as? Date ?? .distantPast
                let isLeftover = !name.hasSuffix(Self.suffix) && now.timeIntervalSince(date) > Self.longestWrite
                return (file: file, date: isLeftover ? .distantPast : date)
            }
            return dated.sorted { $0.date < $1.date }.map(\.file)
        } catch {
            throw self.failure("listed", cause: error)
        }
    }

    private func read(_ file: URL) throws(TokenClientError) -> Data? {
        let descriptor = open(file.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw self.failure("read")
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            // One byte more than any record has shows that there is too much.
            return try handle.read(upToCount: TokenEndpoint.maximumAnswerBytes + 1) ?? Data()
        } catch {
            throw self.failure("read", cause: error)
        }
    }

    private func write(_ bytes: Data, to file: URL) throws(TokenClientError) {
        let new = file.appendingPathExtension(UUID().uuidString)
        let descriptor = open(new.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw self.failure("written to") }
        do {
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            try handle.write(contentsOf: bytes)
            try handle.close()
        } catch {
            unlink(new.path)
            throw self.failure("written to", cause: error)
        }
        guard rename(new.path, file.path) == 0 else {
            let failure = self.failure("written to")
            unlink(new.path)
            throw failure
        }
    }

    private func remove(_ file: URL) throws(TokenClientError) {
        guard unlink(file.path) == 0 || errno == ENOENT else { throw self.failure("cleared") }
    }

    private func makeFolder() throws(TokenClientError) {
        if Self.mode(of: self.folder) == nil {
            do {
                try FileManager.default.createDirectory(
                    at: self.folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            } catch {
                throw self.failure("made", cause: error)
            }
        }
        try self.checkPrivacy(Self.mode(of: self.folder) ?? 0)
    }

    /// Whoever else may write here could plant a token, and whoever may read could take one.
    private func checkPrivacy(_ mode: Int) throws(TokenClientError) {
        guard mode & 0o077 == 0 else {
            throw TokenClientError(
                code: .storeFailed,
                message: "The token folder \(self.folder.path) is open to others (mode \(String(mode, radix: 8))); "
                    + "give the store a folder of its own with mode 700."
            )
        }
    }

    private static func mode(of folder: URL) -> Int? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: folder.path)
        return (attributes?[.posixPermissions] as? NSNumber)?.intValue
    }

    private func failure(_ done: String, cause: (any Error)? = nil) -> TokenClientError {
        let reason = cause == nil ? " (\(String(cString: strerror(errno))))" : ""
        return TokenClientError(
            code: .storeFailed, message: "The token folder \(self.folder.path) could not be \(done)\(reason).",
            cause: cause)
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Makes files that their owner alone can read from their first moment, whatever the process's umask is.
enum PrivateFile {
    /// Makes a file, and returns when what it holds is on the disk.
    ///
    /// - Parameters:
    ///   - path: The file, which must not exist.
    ///   - bytes: What it holds.
    /// - Throws: An error where it is not written as a whole; then there is no file.
    static func make(at path: String, holding bytes: Data = Data()) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try file.write(contentsOf: bytes)
            try file.synchronize()
            try file.close()
        } catch {
            unlink(path)
            throw error
        }
    }

    /// Returns when the names in a folder are on the disk.
    ///
    /// - Parameter path: The folder.
    /// - Throws: An error where that is not known.
    static func settle(folder path: String) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }
}

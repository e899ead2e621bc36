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
    /// Makes a file.
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
            try file.close()
        } catch {
            unlink(path)
            throw error
        }
    }
}

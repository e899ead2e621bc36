// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Makes files that their owner alone can read from their first moment, whatever the process's umask is.
package enum PrivateFile {
    /// Makes a file, and returns when what it holds is on the disk.
    ///
    /// - Parameters:
    ///   - path: The file, which must not exist.
    ///   - bytes: What it holds.
    ///   - goesToFolder: Whether it belongs to whom its folder does where the superuser makes it: to the user of a server that
    ///     reads it there.
    /// - Throws: ``SystemRefusal`` where it is not written as a whole; then there is no file.
    package static func make(
        at path: String, holding bytes: Data = Data(), goesToFolder: Bool = false
    ) throws(SystemRefusal) {
        let url = URL(filePath: path)
        // The folder whose owner is looked at is the one that the file is made in, whatever takes its place meanwhile.
        let place = url.deletingLastPathComponent().path(percentEncoded: false)
        let folder = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw SystemRefusal() }
        defer { close(folder) }
        let name = url.lastPathComponent
        let descriptor = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw SystemRefusal() }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            if goesToFolder, geteuid() == 0 { try self.give(descriptor, toOwnerOf: folder, at: place) }
            try file.write(contentsOf: bytes)
            try file.synchronize()
            try file.close()
        } catch {
            let refusal = error as? SystemRefusal ?? SystemRefusal(behind: error)
            unlinkat(folder, name, 0)
            throw refusal
        }
    }

    /// Gives a file to whom its folder belongs, unless that is this user.
    private static func give(_ descriptor: CInt, toOwnerOf folder: CInt, at place: String) throws {
        #if os(Linux)
            // The open folder itself.
            let path = "/proc/self/fd/\(folder)/."
        #else
            let path = place
        #endif
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        guard let user = (attributes[.ownerAccountID] as? NSNumber)?.uint32Value,
            let group = (attributes[.groupOwnerAccountID] as? NSNumber)?.uint32Value, user != geteuid()
        else { return }
        guard fchown(descriptor, user, group) == 0 else { throw SystemRefusal() }
    }

    /// Returns when what a file holds, or the names in a folder, are on the disk.
    ///
    /// - Parameter path: The file or folder.
    /// - Throws: ``SystemRefusal`` where that is not known.
    package static func settle(_ path: String) throws(SystemRefusal) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemRefusal() }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw SystemRefusal() }
    }
}

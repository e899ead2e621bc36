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

/// A small file that the command line names, which may also be a pipe or a device, such as `<(…)` in a shell.
struct InputFile {
    /// The most that is read, in bytes; a key file has about 2400.
    static let maximumBytes = 1 << 20

    let path: String

    /// Reads the file to its end.
    ///
    /// - Parameters:
    ///   - limit: The most bytes that it may have.
    ///   - advice: What to do where it cannot be read, to follow the reason.
    /// - Returns: The bytes.
    /// - Throws: ``CommandFailure`` with `configuration` that says why it cannot be read.
    func bytes(atMost limit: Int = Self.maximumBytes, advice: String = "") throws(CommandFailure) -> Data {
        let descriptor = open(self.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw self.unreadable(errno, advice) }
        defer { close(descriptor) }
        var bytes = Data()
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count <= limit {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw self.unreadable(errno, advice) }
            guard count > 0 else { return bytes }
            bytes.append(contentsOf: buffer[..<count])
        }
        throw CommandFailure(
            status: .configuration,
            message: "\(self.path) is longer than \(limit) bytes; name the right file.")
    }

    private func unreadable(_ error: CInt, _ advice: String) -> CommandFailure {
        let reason = PathProblem.reading(self.path) ?? String(cString: strerror(error))
        let end = advice.isEmpty ? "." : "; \(advice)"
        return CommandFailure(status: .configuration, message: "\(self.path) cannot be read: \(reason)\(end)")
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import FleetOperation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite final class FileLockTests {
    private let file = URL.temporaryDirectory.appending(path: "fleetpass-lock-\(UUID().uuidString)")
        .path(percentEncoded: false)

    deinit { unlink(self.file) }

    private var refusal: SystemRefusal? {
        do throws(SystemRefusal) {
            _ = try FileLock(self.file)
            return nil
        } catch {
            return error
        }
    }

    /// The descriptor of a file of this process that begins with a mark.
    private func descriptor(ofFileWith mark: [UInt8]) -> CInt? {
        (0..<min(getdtablesize(), 65_536)).first { descriptor in
            var found = [UInt8](repeating: 0, count: mark.count)
            return pread(descriptor, &found, found.count, 0) == mark.count && found == mark
        }
    }

    @Test func `a file is for one at a time, and made for this user alone`() throws {
        let lock = try FileLock(self.file)
        #expect(self.refusal?.number == EWOULDBLOCK)
        #expect(FileMode.of(self.file) == 0o600)
        lock.release()
        lock.release()
        #expect(self.refusal == nil)
    }

    @Test func `a lock that was released is free, whoever has its descriptor still`() throws {
        let lock = try FileLock(self.file)
        let mark = Array(UUID().uuidString.utf8)
        try lock.write(Data(repeating: 0, count: 100))
        try lock.write(Data(mark))
        #expect(try Data(contentsOf: URL(filePath: self.file)) == Data(mark))
        // As a child process has it that was begun and does not run its program yet.
        let copy = dup(try #require(self.descriptor(ofFileWith: mark)))
        defer { close(copy) }
        lock.release()
        #expect(self.refusal == nil)
    }

    @Test func `neither a link nor what is missing is locked in a file's place`() throws {
        let error = #expect(throws: SystemRefusal.self) { try FileLock(self.file, isMade: false) }
        #expect(error?.number == ENOENT)
        try FileManager.default.createSymbolicLink(atPath: self.file, withDestinationPath: "\(self.file)-elsewhere")
        #expect(self.refusal?.number == ELOOP)
        #expect(!FileManager.default.fileExists(atPath: "\(self.file)-elsewhere"))
    }
}

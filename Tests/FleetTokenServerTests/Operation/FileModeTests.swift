// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import FleetOperation

@Suite struct FileModeTests {
    /// The process's user, 10001, has the groups 10001 and 2000.
    @Test(arguments: [
        // Its own: for it alone, whatever the group.
        (0o600, 10_001, 10_001, false, false), (0o640, 10_001, 2000, false, true), (0o604, 10_001, 10_001, false, true),
        (0o700, 10_001, 10_001, true, false), (0o750, 10_001, 2000, true, true),
        // Another's, which a group of the process's may read: as Kubernetes mounts a secret.
        (0o440, 0, 2000, false, false), (0o640, 0, 2000, false, false), (0o660, 0, 2000, false, true),
        (0o444, 0, 2000, false, true), (0o450, 0, 2000, false, true), (0o2750, 0, 2000, true, false),
        (0o2770, 0, 2000, true, true), (0o3777, 0, 2000, true, true), (0o755, 0, 2000, true, true),
        // Another's, of a group that the process is not in.
        (0o440, 0, 3000, false, true), (0o400, 0, 3000, false, false), (0o750, 0, 3000, true, true),
    ])
    func `a file is open where others than its owner, and the group by which it is read, may use it`(
        mode: Int, owner: Int, group: Int, isFolder: Bool, isOpen: Bool
    ) {
        let found = FileMode.isOpen(
            mode, owner: owner, group: group, isFolder: isFolder, to: 10_001, in: [10_001, 2000])
        #expect(found == isOpen)
    }

    @Test func `what is this user's own is for it alone, and what is not there is not open`() throws {
        let folder = URL.temporaryDirectory.appending(path: "fleetpass-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let (file, link) = (folder.appending(path: "key.json"), folder.appending(path: "link.json"))
        let paths = [folder, file, link].map { $0.path(percentEncoded: false) }
        #expect(!FileMode.isOpen(paths[1]))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data().write(to: file)
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
        func set(_ mode: Int, of path: String) throws {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }
        try set(0o700, of: paths[0])
        try set(0o600, of: paths[1])
        #expect(paths.filter(FileMode.isOpen).isEmpty)
        try set(0o750, of: paths[0])
        try set(0o640, of: paths[1])
        #expect(paths.filter(FileMode.isOpen) == paths)
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Who may do what with a file.
package enum FileMode {
    /// The mode of a file or folder, or of what a link leads to; 0 where there is none.
    package static func of(_ path: String) -> Int { Self.number(.posixPermissions, of: Self.attributes(of: path)) ?? 0 }

    /// Whether a path leads to a file that holds something, and to no folder, pipe or device.
    package static func isRegular(_ path: String) -> Bool {
        Self.attributes(of: path)[.type] as? FileAttributeType == .typeRegular
    }

    /// Whether a folder is made for everybody to write into, such as `/tmp`, and is not to be closed.
    package static func isForEverybody(_ folder: String) -> Bool { Self.of(folder) & 0o1000 != 0 }

    /// Whether others than its owner may write to a file or into a folder.
    package static func isWritableByOthers(_ path: String) -> Bool { Self.of(path) & 0o022 != 0 }

    /// Whether others may use a file with a secret, or a folder of such files, than those whom it is for.
    ///
    /// A folder of another user's in which nobody can write, such as a secret that Kubernetes mounts, is as open as the
    /// files in it.
    ///
    /// - Parameter path: The file or folder, or a link that leads to it.
    /// - Returns: Whether one of the others may do anything with it; not where there is none.
    package static func isOpen(_ path: String) -> Bool {
        let attributes = Self.attributes(of: path)
        guard let mode = Self.number(.posixPermissions, of: attributes) else { return false }
        let isFolder = attributes[.type] as? FileAttributeType == .typeDirectory
        let owner = Self.number(.ownerAccountID, of: attributes) ?? 0
        let user = Int(geteuid())
        if isFolder, owner != user, access(path, W_OK) != 0, errno == EROFS { return false }
        return Self.isOpen(
            mode, owner: owner, group: Self.number(.groupOwnerAccountID, of: attributes) ?? 0, isFolder: isFolder,
            to: user, in: Self.groups)
    }

    /// Whether others may use what has a mode than its owner, and the group that a process needs to read what is another
    /// user's.
    ///
    /// - Parameters:
    ///   - mode: Who may do what with it.
    ///   - owner: Whose it is.
    ///   - group: The group that it belongs to.
    ///   - isFolder: Whether it is a folder, which whoever reads it may also enter.
    ///   - user: The process's user.
    ///   - groups: The groups that the process is a member of.
    /// - Returns: Whether one of the others may do anything with it.
    static func isOpen(
        _ mode: Int, owner: Int, group: Int, isFolder: Bool, to user: Int, in groups: Set<Int>
    ) -> Bool {
        let readers = owner != user && groups.contains(group) ? (isFolder ? 0o050 : 0o040) : 0
        return mode & 0o077 & ~readers != 0
    }

    /// The groups that this process is a member of.
    private static var groups: Set<Int> {
        var groups = [gid_t](repeating: 0, count: Int(max(0, getgroups(0, nil))))
        let count = getgroups(Int32(groups.count), &groups)
        return Set(groups.prefix(Int(max(0, count))).map { Int($0) } + [Int(getegid())])
    }

    /// What is known of a file or folder, or of what a link leads to; nothing where there is none.
    private static func attributes(of path: String) -> [FileAttributeKey: Any] {
        let file = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
        return (try? FileManager.default.attributesOfItem(atPath: file)) ?? [:]
    }

    private static func number(_ key: FileAttributeKey, of attributes: [FileAttributeKey: Any]) -> Int? {
        (attributes[key] as? NSNumber)?.intValue
    }
}

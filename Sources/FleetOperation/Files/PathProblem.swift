// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What keeps this user from a file or folder, in words such as `data is a file, not a folder`.
///
/// Each is `nil` where nothing is known to be in the way.
package enum PathProblem {
    /// Why a file cannot be read.
    package static func reading(_ file: String) -> String? {
        let place = Self.nearest(to: file)
        guard place == file else { return Self.entering(place) ?? "\(file) is missing" }
        guard !Self.isFolder(file) else { return "\(file) is a folder, not a file" }
        return FileManager.default.isReadableFile(atPath: file) ? nil : "\(file) may not be read by this user"
    }

    /// Why the names in a folder cannot be read.
    package static func reading(folder: String) -> String? {
        let folder = folder.count > 1 && folder.hasSuffix("/") ? String(folder.dropLast()) : folder
        let place = Self.nearest(to: folder)
        guard place == folder else { return Self.entering(place) ?? "\(folder) is missing" }
        guard Self.isFolder(folder) else { return "\(folder) is a file, not a folder" }
        return FileManager.default.isReadableFile(atPath: folder) ? nil : "\(folder) may not be read by this user"
    }

    /// Why a file cannot be written, or made where it is missing.
    package static func writing(_ file: String) -> String? {
        guard FileManager.default.fileExists(atPath: file) else { return Self.making(file: file) }
        guard !Self.isFolder(file) else { return "\(file) is a folder, not a file" }
        return FileManager.default.isWritableFile(atPath: file) ? nil : "\(file) may not be written by this user"
    }

    /// Why a file that is missing cannot be made.
    package static func making(file: String) -> String? {
        let folder = Self.folder(of: file)
        let place = Self.nearest(to: folder)
        guard place == folder else { return Self.entering(place) ?? "\(folder) is missing" }
        return Self.writing(into: folder)
    }

    /// Why a folder cannot be used, or made together with those that it is in.
    package static func making(folder: String) -> String? {
        Self.writing(into: Self.nearest(to: folder))
    }

    private static func entering(_ place: String) -> String? {
        guard Self.isFolder(place) else { return "\(place) is a file, not a folder" }
        return FileManager.default.isExecutableFile(atPath: place) ? nil : "\(place) may not be read by this user"
    }

    private static func writing(into place: String) -> String? {
        guard Self.isFolder(place) else { return "\(place) is a file, not a folder" }
        return FileManager.default.isWritableFile(atPath: place) ? nil : "\(place) may not be written by this user"
    }

    /// The path itself where it exists, or the nearest to it that does of those that it is in.
    private static func nearest(to path: String) -> String {
        var place = path
        while !FileManager.default.fileExists(atPath: place), place != Self.folder(of: place) {
            place = Self.folder(of: place)
        }
        return place
    }

    private static func isFolder(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }

    private static func folder(of path: String) -> String {
        let folder = (path.hasPrefix("/") ? "/" : "") + path.split(separator: "/").dropLast().joined(separator: "/")
        return folder.isEmpty ? "." : folder
    }
}

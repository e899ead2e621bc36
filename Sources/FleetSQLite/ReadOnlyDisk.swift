// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A disk that can only be read for now, such as one that its system mounted anew after an error.
package enum ReadOnlyDisk {
    /// Whether a file is there to be read, in a folder in which nobody can make another.
    ///
    /// SQLite says of such a file that it cannot be opened, where it wants one beside it that is not there yet.
    ///
    /// - Parameter file: The file's path.
    /// - Returns: Whether it is the disk that is in the way, and not a right that this user lacks.
    package static func holds(_ file: String) -> Bool {
        // The other file would be made beside the one that a link leads to.
        let real = URL(filePath: file).resolvingSymlinksInPath()
        guard access(real.path(percentEncoded: false), R_OK) == 0 else { return false }
        let folder = real.deletingLastPathComponent().path(percentEncoded: false)
        return access(folder, W_OK) != 0 && errno == EROFS
    }
}

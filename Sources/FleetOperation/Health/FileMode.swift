// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Who may do what with a file.
package enum FileMode {
    /// The mode of a file or folder, or of what a link leads to; 0 where there is none.
    package static func of(_ path: String) -> Int {
        let file = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
        let attributes = try? FileManager.default.attributesOfItem(atPath: file)
        return (attributes?[.posixPermissions] as? NSNumber)?.intValue ?? 0
    }

    /// Whether others than its owner may write to a file or into a folder.
    package static func isWritableByOthers(_ path: String) -> Bool { Self.of(path) & 0o022 != 0 }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What tells whether files were written, or others put in their places, since somebody looked.
///
/// Links are followed, as folders of mounted secrets exchange theirs.
package struct FileVersions: Hashable, Sendable {
    private struct Version: Hashable, Sendable {
        let file: UInt64
        let size: UInt64
        let written: Date
    }

    private let versions: [Version?]

    /// Looks at files; one that is missing is told from every other.
    package init(of paths: [String]) {
        self.versions = paths.map { path in
            let file = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
            guard let attributes = try? FileManager.default.attributesOfItem(atPath: file) else { return nil }
            return Version(
                file: (attributes[.systemFileNumber] as? NSNumber)?.uint64Value ?? 0,
                size: (attributes[.size] as? NSNumber)?.uint64Value ?? 0,
                written: attributes[.modificationDate] as? Date ?? .distantPast)
        }
    }
}

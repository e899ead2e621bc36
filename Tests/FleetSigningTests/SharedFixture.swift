// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Test data kept beside the project, for those who have it.
enum SharedFixture {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "shared/data")

    static let isMissing = !FileManager.default.fileExists(atPath: folder.path(percentEncoded: false))
}

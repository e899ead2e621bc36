// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Files that are read once they are listed, while somebody may take one away, such as the file of a key that is retired.
package enum ListedFiles {
    /// How often files are listed at most, as a link that leads nowhere stays listed.
    private static let maximumListings = 4

    /// Lists files and reads them; again where one is gone by then.
    ///
    /// - Parameters:
    ///   - list: Lists the files.
    ///   - paths: The paths of what was listed.
    ///   - read: Reads what was listed.
    /// - Returns: What was read.
    /// - Throws: What listing throws, and what reading does where no file is gone, or one every time.
    package static func read<Listing, Contents, Failure: Error>(
        _ list: () throws(Failure) -> Listing, at paths: (Listing) -> [String],
        _ read: (Listing) throws(Failure) -> Contents
    ) throws(Failure) -> Contents {
        for _ in 1..<Self.maximumListings {
            let listing = try list()
            do throws(Failure) {
                return try read(listing)
            } catch {
                guard paths(listing).contains(where: { !FileManager.default.fileExists(atPath: $0) }) else {
                    throw error
                }
            }
        }
        return try read(list())
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import Foundation

extension URL {
    /// Reads an address of the command line that secrets and keys may travel from and to: https, or http on this machine.
    ///
    /// What stands in it as a user, a query or a fragment may be secret, and is not told.
    ///
    /// - Parameters:
    ///   - text: The address.
    ///   - option: The option that it was given with.
    ///   - example: An address of the kind.
    /// - Throws: ``CommandFailure`` with `usage`.
    init(given text: String, as option: String, like example: String) throws(CommandFailure) {
        guard let url = URL(string: text), url.scheme != nil, url.host() != nil else {
            throw CommandFailure(status: .usage, message: "\(option) is not a URL such as \(example).")
        }
        do throws(TokenClientError) {
            _ = try SecureURL(checking: url)
        } catch {
            let isInsecure = error.code == .insecureURL
            throw CommandFailure(
                status: .usage,
                message: isInsecure
                    ? "\(option) \(text) is neither https nor http on this machine; write it like \(example)."
                    : "\(option): \(error.message)")
        }
        self = url
    }
}

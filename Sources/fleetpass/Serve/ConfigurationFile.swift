// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The YAML file that a service is set up with.
struct ConfigurationFile {
    let path: String
    /// The command that reads it, such as `serve tokens`.
    let command: String

    /// The file's text.
    ///
    /// - Throws: ``CommandFailure`` with `configuration`.
    func text() throws -> String {
        guard let text = try? String(contentsOf: URL(filePath: self.path), encoding: .utf8) else {
            throw CommandFailure(
                status: .configuration,
                message:
                    "the configuration \(self.path) cannot be read as UTF-8 text; create it, or name the right file "
                    + "with --config (\(self.command) --reference prints every setting).")
        }
        return text
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging

/// The YAML file that a service is set up with.
struct ConfigurationFile {
    let path: String
    /// The command that reads it, such as `serve tokens`.
    let command: String

    /// The file's text.
    ///
    /// - Throws: ``CommandFailure`` with `configuration`.
    func text() throws -> String {
        let bytes = try InputFile(path: self.path).bytes(
            advice: "name a configuration with --config (\(self.command) --reference prints every setting).")
        guard let text = String(data: bytes, encoding: .utf8) else {
            throw CommandFailure(status: .configuration, message: "\(self.path) is no UTF-8 text.")
        }
        return text
    }
}

extension Logger {
    /// Tells of variables that look like settings and are none, where there are any: a misspelt one is not used.
    func warn(ofUnknown variables: [String]) {
        guard !variables.isEmpty else { return }
        self.warning(
            "variables that look like settings are none, and are not used",
            metadata: ["variables": "\(variables.joined(separator: ", "))"])
    }
}

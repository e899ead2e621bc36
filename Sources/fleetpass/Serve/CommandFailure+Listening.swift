// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension CommandFailure {
    /// The failure of a service in words; a port that was taken since ``ListeningPort`` looked is the usual one.
    ///
    /// - Parameters:
    ///   - error: Why it ended.
    ///   - ports: The ports that it was to listen on, such as `8080 or 8081`.
    ///   - host: The address.
    ///   - settings: What names other ports, such as `set listen.port`.
    init(ending error: any Error, ports: String, host: String, settings: String) {
        if let known = CommandFailure(error) {
            self = known
            return
        }
        let text = "\(error)"
        let isTaken = text.contains("EADDRINUSE") || text.localizedCaseInsensitiveContains("already in use")
        self =
            isTaken
            ? CommandFailure(
                status: .configuration,
                message: "port \(ports) of \(host) is in use; end the other program, or \(settings).")
            : CommandFailure(status: .failed, message: "the service ended: \(text)")
    }
}

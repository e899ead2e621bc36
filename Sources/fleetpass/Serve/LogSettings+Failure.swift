// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import Foundation
import Logging

extension LogSettings {
    /// Runs a service until it ends; where each line of its log is to be an object, so is what it failed of.
    ///
    /// Such a failure ends the program.
    ///
    /// - Parameter service: Runs the service.
    /// - Throws: The service's error, where its log is text.
    func loggingFailure(of service: () async throws -> Void) async throws {
        do {
            try await service()
        } catch let error where self.isJSON {
            let failure = CommandFailure(error) ?? CommandFailure(status: .failed, message: "\(error)")
            Logger(self).critical(
                "the server failed",
                metadata: ["problem": "\(failure.message)", "exit_code": "\(failure.status.rawValue)"])
            exit(failure.status.rawValue)
        }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenServer
import Foundation

/// The file of callers with bearer secrets, which `up --callers` and `serve tokens` read.
struct CallersFile {
    let path: String

    func authenticator() throws -> StaticBearerAuthenticator {
        guard let bytes = try? Data(contentsOf: URL(filePath: self.path)) else {
            throw CommandFailure(
                status: .configuration,
                message: "the callers' file \(self.path) cannot be read; create it, as docs/token-server.md shows.")
        }
        do throws(TokenServerError) {
            return try StaticBearerAuthenticator(json: bytes)
        } catch {
            throw CommandFailure(status: .configuration, message: "\(self.path): \(error.message)")
        }
    }
}

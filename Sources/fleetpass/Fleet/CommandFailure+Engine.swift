// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient

extension CommandFailure.Status {
    /// How a command ends whose calls failed so: `unreachable` where no service answered, else `failed`.
    init(_ failure: EngineFailure) {
        self =
            switch failure.code {
            case .unavailable: .unreachable
            // An engine that gives up in time has answered.
            case .deadlineExceeded where failure.stage != .engine: .unreachable
            default: .failed
            }
    }
}

extension EngineFailure {
    /// The failure on one line; of a server that could not be reached, with which of the two it was.
    var told: String {
        guard let cause = self.cause as? TokenClientError, cause.code == .unreachable, cause.httpStatus == nil
        else { return "\(self)" }
        var told = self
        told.message = "\(self.stage == .token ? "Token server" : "Engine") \(self.message)"
        return "\(told)"
    }
}

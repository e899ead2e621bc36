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

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient

extension CommandFailure.Status {
    /// How a command ends whose calls failed so: `unreachable` where no service was there to answer, else `failed`.
    init(_ failure: EngineFailure) {
        self = failure.code == .unavailable ? .unreachable : .failed
    }
}

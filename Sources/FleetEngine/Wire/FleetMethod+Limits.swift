// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

extension FleetMethod {
    /// The most bytes that a request may have, as its sender had it before it was compressed.
    var maximumRequestBytes: Int {
        self == .batchCreateTasks ? EngineRoutes.maximumBatchBytes : EngineRoutes.maximumBodyBytes
    }
}

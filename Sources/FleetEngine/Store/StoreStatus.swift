// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What a database that machines share says of itself.
struct StoreStatus: Hashable, Sendable {
    /// What time it is there.
    let time: Date
    /// Whether it takes changes; a standby takes none.
    let takesChanges: Bool
}

extension EngineStore {
    /// A store of this machine's own serves if it can be read, and has no clock but the machine's.
    func status() async throws -> StoreStatus? {
        try await self.read { _ -> StoreStatus? in nil }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

extension FleetTokenProvider {
    /// How much is going on at a moment.
    package struct Load: Equatable, Sendable {
        /// The fetches that were begun and have not ended.
        package var fetches: Int
        /// The calls that wait for one.
        package var callers: Int
    }

    /// What is going on now; a simulation moves its clock only when everything that was begun stands still.
    package var load: Load {
        self.state.withLock { state in
            // Not those in `callers`, which are there a little before the machine knows of them.
            let callers = state.machine.entries.values.map { entry in
                (entry.flight?.waiters.callers.count ?? 0) + (entry.flight?.waiters.lives.count ?? 0)
            }
            return Load(fetches: state.tasks.count, callers: callers.reduce(0, +))
        }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens

/// What the driver says about the stops that are left.
///
/// A change names the stop that it is about, so that it still means the same stop when a dispatcher changed the list.
enum StopChange: Sendable {
    case replaceAll([VehicleStop])
    case set(VehicleStop, VehicleStop.State)
    case complete(VehicleStop)

    /// The list after the change; a stop that is gone stays gone.
    func applied(to stops: [VehicleStop]) -> [VehicleStop] {
        var stops = stops
        switch self {
        case .replaceAll(let wanted): return wanted
        case .set(let stop, let state):
            guard let index = stops.firstIndex(where: stop.isSame) else { return stops }
            stops[index].state = state
        case .complete(let stop):
            guard let index = stops.firstIndex(where: stop.isSame) else { return stops }
            stops.remove(at: index)
        }
        return stops
    }

    /// Whether the list before plays no part.
    var replacesAll: Bool {
        if case .replaceAll = self { true } else { false }
    }

    /// The task whose token goes with the change: a phone that is trusted has tokens for single tasks.
    var task: TaskID? {
        switch self {
        case .replaceAll(let stops): stops.lazy.flatMap(\.tasks).first
        case .set(let stop, _), .complete(let stop): stop.tasks.first
        }
    }
}

extension VehicleStop {
    fileprivate func isSame(_ other: VehicleStop) -> Bool {
        self.tasks == other.tasks && self.latitude == other.latitude && self.longitude == other.longitude
    }
}

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

    /// The list after the change; a stop that is gone stays gone, and tasks that were added to one are not closed with it.
    func applied(to stops: [VehicleStop]) -> [VehicleStop] {
        var stops = stops
        switch self {
        case .replaceAll(let wanted): return wanted
        case .set(let stop, let state):
            guard let index = stops.firstIndex(where: stop.isSame) else { return stops }
            stops[index].state = state
        case .complete(let stop):
            guard let index = stops.firstIndex(where: stop.isSame) else { return stops }
            let added = stops[index].tasks.filter { !stop.tasks.contains($0) }
            if added.isEmpty { stops.remove(at: index) } else { stops[index].tasks = added }
        }
        return stops
    }

    /// Whether the change is of no use with this list: it says how far the vehicle is with a stop that is gone.
    func isVoid(in stops: [VehicleStop]) -> Bool {
        if case .set(let stop, _) = self { !stops.contains(where: stop.isSame) } else { false }
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
    /// Whether both are one stop, whose tasks a dispatcher may have changed meanwhile.
    fileprivate func isSame(_ other: VehicleStop) -> Bool {
        self.latitude == other.latitude && self.longitude == other.longitude
            && (self.tasks == other.tasks || !Set(self.tasks).isDisjoint(with: other.tasks))
    }
}

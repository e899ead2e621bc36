// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf

/// A trip as a reader is shown it, with what is different in each answer apart from what lasts.
struct ShownTrip: Sendable {
    /// The trip without the time to the next stop; who asks again before anything changed may get the same message.
    let lasting: Trip
    /// The time to the next stop, as of now.
    let remainingTime: Google_Protobuf_Duration?

    init(lasting: Trip, remainingTime: Google_Protobuf_Duration?) {
        self.lasting = lasting
        self.remainingTime = remainingTime
    }

    init(_ trip: consuming Trip) {
        let hasTime = trip.hasRemainingTimeToFirstWaypoint
        self.remainingTime = hasTime ? trip.remainingTimeToFirstWaypoint : nil
        if hasTime { trip.clearRemainingTimeToFirstWaypoint() }
        self.lasting = trip
    }

    /// The whole trip.
    var trip: Trip {
        guard let remainingTime else { return self.lasting }
        var trip = self.lasting
        trip.remainingTimeToFirstWaypoint = remainingTime
        return trip
    }
}

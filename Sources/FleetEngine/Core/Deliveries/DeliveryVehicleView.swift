// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf

/// A delivery vehicle as responses show it: what was stored, and what follows from it at the time of reading.
enum DeliveryVehicleView {
    /// The vehicle with its way.
    static func show(_ vehicle: DeliveryVehicle, context: CallContext) -> DeliveryVehicle {
        var shown = Self.summary(vehicle, context: context)
        shown.remainingVehicleJourneySegments = Self.segments(vehicle, context: context)
        return shown
    }

    /// The vehicle as a list shows it: without its way.
    static func summary(_ vehicle: DeliveryVehicle, context: CallContext) -> DeliveryVehicle {
        var shown = vehicle
        if vehicle.hasRemainingDuration {
            let now = Google_Protobuf_Timestamp(stamping: context.now)
            shown.remainingDuration = Google_Protobuf_Duration(Self.remaining(of: vehicle, at: now))
        }
        shown.remainingVehicleJourneySegments = []
        return shown
    }

    /// The stops of a vehicle with the ways to them, up to one of them, or all.
    static func segments(
        _ vehicle: DeliveryVehicle, upTo last: Int? = nil, context: CallContext
    ) -> [VehicleJourneySegment] {
        let way = DeliveryWay(of: vehicle, upTo: last, context: context)
        return zip(vehicle.remainingVehicleJourneySegments, way.legs).map { stored, leg in
            var segment = stored
            segment.path = leg.path
            if let estimate = leg.estimate {
                if !leg.hasArrived { segment.drivingDistanceMeters = Google_Protobuf_Int32Value(estimate.wholeMeters) }
                segment.drivingDuration = Google_Protobuf_Duration(estimate.duration)
            }
            return segment
        }
    }

    /// How long the driver's way still takes.
    static func remaining(of vehicle: DeliveryVehicle, at now: Google_Protobuf_Timestamp) -> Duration {
        max(.zero, now.duration(to: self.arrival(of: vehicle)))
    }

    /// When the driver's way ends, which is what is stored of its duration.
    static func arrival(of vehicle: DeliveryVehicle) -> Google_Protobuf_Timestamp {
        Google_Protobuf_Timestamp(seconds: vehicle.remainingDuration.seconds, nanos: vehicle.remainingDuration.nanos)
    }
}

extension RouteEstimate {
    /// The metres as the wire has them.
    var wholeMeters: Int32 { Int32(clamping: Int64(self.meters.rounded())) }
}

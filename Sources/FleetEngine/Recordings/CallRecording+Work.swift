// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import SwiftProtobuf

extension CallRecording {
    /// How long before its answer a call can have taken effect; what an answer tells of more is another call's time.
    private static let longestWork = Duration.seconds(10)

    /// The recording in the order in which its calls took effect, as far as their answers tell that.
    ///
    /// Calls that overlap are logged in the order of their answers, which may be another.
    public var inOrderOfWork: CallRecording {
        CallRecording(
            ordered: self.work.map(\.call), tornLines: self.tornLines, otherEntries: self.otherEntries,
            repeatedEntries: self.repeatedEntries)
    }

    /// The calls in the order in which they took effect, each with the time of that, or else of its answer.
    var work: [(time: Date, call: LoggedCall)] {
        var told: Set<String> = []
        let work = self.calls.map { call -> (time: Date, call: LoggedCall) in
            // Later answers on the resource repeat what the call of that time told first.
            guard let text = call.workTime,
                told.insert("\(call.collection ?? "")/\(call.resourceID ?? "")/\(text)").inserted,
                let time = try? Google_Protobuf_Timestamp(jsonString: "\"\(text)\"").date,
                (0...Self.longestWork / .seconds(1)).contains(call.time.timeIntervalSince(time))
            else { return (time: call.time, call: call) }
            return (time: time, call: call)
        }
        // Stable, as calls may have taken effect at the same time.
        return work.enumerated()
            .sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
            .map(\.element)
    }
}

extension LoggedCall {
    /// When the service did the work of this call or an earlier one, as the answer tells it.
    fileprivate var workTime: String? {
        switch self.method {
        case .createVehicle, .updateVehicle:
            // Without a location of its own, it repeats the time of an earlier report.
            guard self.reportsLocation else { return nil }
            return self.response?["lastLocation"]?.object?["serverTime"]?.string
        case .updateTrip:
            switch self.resource?["tripStatus"]?.string {
            case "ENROUTE_TO_INTERMEDIATE_DESTINATION", "ENROUTE_TO_DROPOFF":
                return self.response?["pickupTime"]?.string
            case "COMPLETE":
                return self.response?["dropoffTime"]?.string
            default:
                return nil
            }
        default:
            return nil
        }
    }

    /// Whether the call reports where a vehicle is.
    private var reportsLocation: Bool {
        guard self.method == .updateVehicle else { return self.resource?["lastLocation"] != nil }
        return self.maskedFields.contains("lastLocation")
    }
}

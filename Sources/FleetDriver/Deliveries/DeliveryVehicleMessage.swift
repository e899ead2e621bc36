// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens
import Foundation

/// The engine's `DeliveryVehicle` message, as far as a reporter reads it; proto3 JSON leaves out zeros and empty values.
struct DeliveryVehicleMessage: Decodable {
    struct Segment: Decodable {
        var stop: Stop?
    }
    struct Stop: Decodable {
        var plannedLocation: Place?
        var tasks: [Task]?
        var state: String?
    }
    struct Place: Decodable {
        var point: Point?
    }
    struct Point: Decodable {
        var latitude: Double?
        var longitude: Double?
    }
    struct Task: Decodable {
        var taskId: String
        var taskDuration: String?
    }

    var remainingVehicleJourneySegments: [Segment]?

    /// Reads the stops from an answer.
    ///
    /// One stop that cannot be read fails them all: the list goes back as a whole, and what were left out would close.
    ///
    /// - Parameter body: The answer.
    /// - Returns: The stops that are left.
    /// - Throws: `EngineFailure`.
    static func stops(in body: Data) throws(EngineFailure) -> [VehicleStop] {
        do {
            let message = try JSONDecoder().decode(Self.self, from: body)
            return try (message.remainingVehicleJourneySegments ?? []).map { try ($0.stop ?? Stop()).stop }
        } catch {
            throw EngineFailure(
                stage: .engine, code: .internalError,
                message: "The engine's answer is not a delivery vehicle with stops.", cause: error)
        }
    }
}

extension DeliveryVehicleMessage.Task {
    /// Proto3 JSON writes a duration as seconds with an `s`.
    fileprivate var duration: Duration? {
        guard let text = self.taskDuration, text.hasSuffix("s"), let seconds = Double(text.dropLast()),
            (0...315_576_000_000).contains(seconds)
        else { return nil }
        return .seconds(seconds)
    }
}

extension DeliveryVehicleMessage.Stop {
    fileprivate var stop: VehicleStop {
        get throws {
            let tasks = try (self.tasks ?? []).map { (try TaskID(checking: $0.taskId), $0.duration) }
            var stop = try VehicleStop(
                latitude: self.plannedLocation?.point?.latitude ?? 0,
                longitude: self.plannedLocation?.point?.longitude ?? 0,
                tasks: tasks.map(\.0),
                state: VehicleStop.State(rawValue: self.state ?? VehicleStop.State.new.rawValue)
            )
            for (task, duration) in tasks { stop.taskDurations[task] = duration }
            return stop
        }
    }
}

extension VehicleStop {
    /// The engine's `VehicleJourneySegment` message, of which it computes the rest.
    var segment: JSONValue {
        .object([
            "stop": .object([
                "plannedLocation": .object([
                    "point": .object(["latitude": .double(self.latitude), "longitude": .double(self.longitude)])
                ]),
                "state": .string(self.state.rawValue),
                "tasks": .array(self.tasks.map { .object(["taskId": .string($0.value)]) }),
            ])
        ])
    }
}

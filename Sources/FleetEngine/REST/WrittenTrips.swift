// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// Trips as they were last written as JSON: who asks for one again before anything of it changed is answered by a
/// comparison, which costs a small part of writing JSON.
///
/// The time to the next stop is different in each answer, and is therefore written by itself.
final class WrittenTrips: Sendable {
    private struct Written: Sendable {
        /// The trip but for the time to the next stop.
        let image: [UInt8]
        let hasEnumNumbers: Bool
        let json: [UInt8]
    }

    private let recent = Locked<[String: Written]>([:])

    /// How many trips are remembered, of about 4 KiB each, and how long their JSON and their image may be, in bytes; those
    /// with ways along roads can be much longer.
    static let capacity = 16_384
    static let maximumBytes = 4096
    /// The number of `remaining_time_to_first_waypoint` in the contract.
    static let remainingTime = 27

    /// How many trips are remembered now.
    var count: Int { self.recent.withLock { $0.count } }

    /// Writes a trip.
    ///
    /// - Parameters:
    ///   - trip: The trip as it is answered; it has a name.
    ///   - hasEnumNumbers: Whether enumerations are written by their numbers.
    /// - Returns: The JSON.
    /// - Throws: ``EngineError`` where the library cannot write it.
    func json(_ trip: Trip, withEnumNumbers hasEnumNumbers: Bool) throws(EngineError) -> [UInt8] {
        var json = try self.lasting(trip, hasEnumNumbers)
        guard trip.hasRemainingTimeToFirstWaypoint else { return json }
        json.removeLast()
        json += #","remainingTimeToFirstWaypoint":"#.utf8
        json += try MessageJSON.write(trip.remainingTimeToFirstWaypoint, withEnumNumbers: hasEnumNumbers)
        json.append(UInt8(ascii: "}"))
        return json
    }

    /// The trip without the time to the next stop.
    private func lasting(_ trip: Trip, _ hasEnumNumbers: Bool) throws(EngineError) -> [UInt8] {
        let known = self.recent.withLock { $0[trip.name] }
        let image = MessageImage.bytes(
            of: trip, leavingOut: Self.remainingTime, expecting: known?.image.count ?? 1024)
        if let known, known.hasEnumNumbers == hasEnumNumbers, known.image == image { return known.json }
        var lasting = trip
        lasting.clearRemainingTimeToFirstWaypoint()
        let json = try MessageJSON.write(lasting, withEnumNumbers: hasEnumNumbers)
        guard json.count <= Self.maximumBytes, let image, image.count <= Self.maximumBytes else { return json }
        self.recent.withLock { recent in
            if recent.count >= Self.capacity { recent.removeAll(keepingCapacity: true) }
            recent[trip.name] = Written(image: image, hasEnumNumbers: hasEnumNumbers, json: json)
        }
        return json
    }
}

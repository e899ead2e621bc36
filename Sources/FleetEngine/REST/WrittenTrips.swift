// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// Trips as they were last written as JSON: who asks for one again before anything of it changed is answered by a
/// comparison of its binary form, which costs a small part of writing JSON.
///
/// The time to the next stop is different in each answer, and is therefore written by itself.
final class WrittenTrips: Sendable {
    private struct Written: Sendable {
        /// The binary form; messages that are equal can differ in it, by texts that are equal but for their bytes.
        let message: [UInt8]
        let hasEnumNumbers: Bool
        let json: [UInt8]
    }

    private let recent = Locked<[String: Written]>([:])

    /// How many trips are remembered, of about 2 KiB each, and how long their JSON may be, in bytes; ways along roads can
    /// be much longer.
    static let capacity = 16_384
    static let maximumBytes = 4096

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
        guard trip.hasRemainingTimeToFirstWaypoint else { return try self.lasting(trip, hasEnumNumbers) }
        let time = try MessageJSON.write(trip.remainingTimeToFirstWaypoint, withEnumNumbers: hasEnumNumbers)
        var lasting = trip
        lasting.clearRemainingTimeToFirstWaypoint()
        var json = try self.lasting(lasting, hasEnumNumbers)
        json.removeLast()
        json += #","remainingTimeToFirstWaypoint":"#.utf8
        json += time
        json.append(UInt8(ascii: "}"))
        return json
    }

    private func lasting(_ trip: Trip, _ hasEnumNumbers: Bool) throws(EngineError) -> [UInt8] {
        guard let message: [UInt8] = try? trip.serializedBytes() else {
            return try MessageJSON.write(trip, withEnumNumbers: hasEnumNumbers)
        }
        if let known = self.recent.withLock({ $0[trip.name] }), known.hasEnumNumbers == hasEnumNumbers,
            known.message == message
        {
            return known.json
        }
        let json = try MessageJSON.write(trip, withEnumNumbers: hasEnumNumbers)
        guard json.count <= Self.maximumBytes else { return json }
        self.recent.withLock { recent in
            if recent.count >= Self.capacity { recent.removeAll(keepingCapacity: true) }
            recent[trip.name] = Written(message: message, hasEnumNumbers: hasEnumNumbers, json: json)
        }
        return json
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf

/// Trips as they were last written as JSON: who asks for one again before anything of it changed is answered by a
/// comparison, which costs a small part of writing JSON.
///
/// The time to the next stop is different in each answer, and is therefore written by itself.
final class WrittenTrips: Sendable {
    private struct Written: Sendable {
        var trip: Trip
        let image: [UInt8]
        let hasEnumNumbers: Bool
        let json: [UInt8]
    }

    private static let timeMember = Array(#","remainingTimeToFirstWaypoint":"#.utf8)
    private let recent = Remembered<Written>(capacity: capacity)

    /// How many trips are remembered, of about 8 KiB each, and how long their JSON and their image may be, in bytes; those
    /// with ways along roads can be much longer.
    static let capacity = 16_384
    static let maximumBytes = 4096

    /// How many trips are remembered now.
    var count: Int { self.recent.count }

    /// Writes a trip.
    ///
    /// - Parameters:
    ///   - shown: The trip as it is answered; it has a name.
    ///   - hasEnumNumbers: Whether enumerations are written by their numbers.
    /// - Returns: The JSON.
    /// - Throws: ``EngineError`` where the library cannot write it.
    func json(_ shown: ShownTrip, withEnumNumbers hasEnumNumbers: Bool) throws(EngineError) -> [UInt8] {
        let lasting = try self.lasting(shown.lasting, hasEnumNumbers)
        guard let remainingTime = shown.remainingTime else { return lasting }
        var json: [UInt8] = []
        json.reserveCapacity(lasting.count + Self.timeMember.count + 32)
        json += lasting[..<(lasting.count - 1)]
        json += Self.timeMember
        try json.append(remainingTime)
        json.append(UInt8(ascii: "}"))
        return json
    }

    private func lasting(_ trip: Trip, _ hasEnumNumbers: Bool) throws(EngineError) -> [UInt8] {
        let known = self.recent[trip.name].flatMap { $0.hasEnumNumbers == hasEnumNumbers ? $0 : nil }
        if let known, isSameInstance(known.trip, trip) { return known.json }
        let image = MessageImage.bytes(
            of: trip, expecting: known?.image.count ?? 1024, atMost: Self.maximumBytes)
        if var known, known.image == image {
            known.trip = trip
            self.recent.keep(known, for: trip.name)
            return known.json
        }
        let json = try MessageJSON.write(trip, withEnumNumbers: hasEnumNumbers)
        if json.count <= Self.maximumBytes, let image {
            let written = Written(trip: trip, image: image, hasEnumNumbers: hasEnumNumbers, json: json)
            self.recent.keep(written, for: trip.name)
        }
        return json
    }
}

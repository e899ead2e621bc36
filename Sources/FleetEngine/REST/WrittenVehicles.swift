// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf

/// Vehicles as JSON: the stops of one, which stay while it reports, are written once.
final class WrittenVehicles: Sendable {
    private struct Written: Sendable {
        let stops: [TripWaypoint]
        let hasEnumNumbers: Bool
        /// Each stop without the way to it and the brace at its end.
        let texts: [[UInt8]]
    }

    private let recent = Remembered<Written>(capacity: capacity)

    /// Of how many vehicles the stops are remembered, and how long the JSON of one's may be, in bytes; those with ways
    /// along roads can be much longer.
    static let capacity = 16_384
    static let maximumBytes = 4096

    /// How many vehicles are remembered now.
    var count: Int { self.recent.count }

    /// Writes a vehicle.
    ///
    /// - Parameters:
    ///   - shown: The vehicle as it is answered; it has a name.
    ///   - hasEnumNumbers: Whether enumerations are written by their numbers.
    /// - Returns: The JSON.
    /// - Throws: ``EngineError`` where the library cannot write it.
    func json(_ shown: ShownVehicle, withEnumNumbers hasEnumNumbers: Bool) throws(EngineError) -> [UInt8] {
        var json = try MessageJSON.write(shown.vehicle, withEnumNumbers: hasEnumNumbers)
        guard !shown.stops.isEmpty else { return json }
        let texts = try self.texts(of: shown, hasEnumNumbers)
        json.removeLast()
        json += #","waypoints":["#.utf8
        for (index, leg) in shown.legs.enumerated() {
            if index > 0 { json.append(UInt8(ascii: ",")) }
            json += texts[index]
            // A stop that says nothing of itself is its opening brace.
            var needsComma = texts[index].count > 1
            func add(_ name: StaticString, _ value: some Message) throws(EngineError) {
                if needsComma { json.append(UInt8(ascii: ",")) }
                needsComma = true
                json += UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
                json += try MessageJSON.write(value, withEnumNumbers: hasEnumNumbers)
            }
            if let distance = leg.distance { try add(#""distanceMeters":"#, distance) }
            if let eta = leg.eta { try add(#""eta":"#, eta) }
            if let duration = leg.duration { try add(#""duration":"#, duration) }
            json.append(UInt8(ascii: "}"))
        }
        json += "]}".utf8
        return json
    }

    private func texts(of shown: ShownVehicle, _ hasEnumNumbers: Bool) throws(EngineError) -> [[UInt8]] {
        let name = shown.vehicle.name
        if let known = self.recent[name], known.hasEnumNumbers == hasEnumNumbers,
            isSameInstance(known.stops, shown.stops)
        {
            return known.texts
        }
        var texts: [[UInt8]] = []
        for stop in shown.stops {
            var text = try MessageJSON.write(stop.withoutLeg, withEnumNumbers: hasEnumNumbers)
            text.removeLast()
            texts.append(text)
        }
        if texts.reduce(0, { $0 + $1.count }) <= Self.maximumBytes {
            self.recent.keep(Written(stops: shown.stops, hasEnumNumbers: hasEnumNumbers, texts: texts), for: name)
        }
        return texts
    }
}

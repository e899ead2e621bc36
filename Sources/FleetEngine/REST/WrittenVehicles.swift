// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf

/// Vehicles as JSON: what stays of one while it drives is written once, and for each report no more than where it is and
/// the ways to its stops.
final class WrittenVehicles: Sendable {
    private struct Written: Sendable {
        let hasEnumNumbers: Bool
        /// The vehicle, to be compared with: what stays of it as bytes too, for one that was read anew.
        var vehicle = Vehicle()
        var image: [UInt8]?
        /// What stays of it as JSON, without the brace at its end.
        var text: [UInt8] = []
        var stops: [TripWaypoint] = []
        /// Each stop without the way to it and the brace at its end.
        var texts: [[UInt8]] = []

        /// How long the parts are together.
        var bytes: Int { self.texts.reduce(self.text.count + (self.image?.count ?? 0)) { $0 + $1.count } }
    }

    private let recent = Remembered<Written>(capacity: capacity)

    /// How many vehicles are remembered, and how long the parts of one may be, in bytes; those with ways along roads can be
    /// much longer.
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
        let (vehicle, written) = (shown.vehicle, try self.written(shown, hasEnumNumbers))
        var json = written.text
        json.reserveCapacity(json.count + 512 + written.texts.reduce(0) { $0 + $1.count + 128 })
        func add(_ name: StaticString) {
            // What says nothing so far is its opening brace.
            if json.last != UInt8(ascii: "{") { json.append(UInt8(ascii: ",")) }
            json += UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        }
        if vehicle.hasLastLocation {
            add(#""lastLocation":"#)
            json += try MessageJSON.write(vehicle.lastLocation, withEnumNumbers: hasEnumNumbers)
        }
        if let distance = shown.distance {
            add(#""remainingDistanceMeters":"#)
            json.append(distance)
        }
        if let eta = shown.eta {
            add(#""etaToFirstWaypoint":"#)
            try json.append(eta)
        }
        if !shown.stops.isEmpty { json += #","waypoints":["#.utf8 }
        for (index, (text, leg)) in zip(written.texts, shown.legs).enumerated() {
            if index > 0 { json.append(UInt8(ascii: ",")) }
            json += text
            if let distance = leg.distance {
                add(#""distanceMeters":"#)
                json.append(distance)
            }
            if let eta = leg.eta {
                add(#""eta":"#)
                try json.append(eta)
            }
            if let duration = leg.duration {
                add(#""duration":"#)
                try json.append(duration)
            }
            json.append(UInt8(ascii: "}"))
        }
        json += (shown.stops.isEmpty ? "}" : "]}").utf8
        return json
    }

    private func written(_ shown: ShownVehicle, _ hasEnumNumbers: Bool) throws(EngineError) -> Written {
        let name = shown.vehicle.name
        let known = self.recent[name].flatMap { $0.hasEnumNumbers == hasEnumNumbers ? $0 : nil }
        var written = known ?? Written(hasEnumNumbers: hasEnumNumbers)
        var isKnown = true
        if written.image == nil || !shown.vehicle.differsByReportOnly(from: written.vehicle) {
            let image = MessageImage.bytes(
                of: shown.vehicle, leavingOut: Vehicle.changingFields, expecting: written.image?.count ?? 512)
            if image == nil || written.image != image {
                written.image = image
                written.text = try Self.open(shown.vehicle.lasting, hasEnumNumbers)
            }
            written.vehicle = shown.vehicle
            isKnown = false
        }
        if !isSameInstance(written.stops, shown.stops) {
            written.stops = shown.stops
            written.texts = []
            for stop in shown.stops { written.texts.append(try Self.open(stop.withoutLeg, hasEnumNumbers)) }
            isKnown = false
        }
        if !isKnown, written.bytes <= Self.maximumBytes { self.recent.keep(written, for: name) }
        return written
    }

    /// A message as JSON without the brace at its end.
    private static func open(_ message: some Message, _ hasEnumNumbers: Bool) throws(EngineError) -> [UInt8] {
        var json = try MessageJSON.write(message, withEnumNumbers: hasEnumNumbers)
        json.removeLast()
        return json
    }
}

extension Vehicle {
    /// The fields that are written for each answer: what a report changes, and `waypoints`.
    fileprivate static let changingFields = reportedFields + [22]

    /// The vehicle without these.
    fileprivate var lasting: Vehicle {
        var vehicle = self.unreported
        vehicle.waypoints = []
        return vehicle
    }
}

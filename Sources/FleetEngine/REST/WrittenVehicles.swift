// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// Vehicles as JSON: what stays of one while it drives is written once, and for each report no more than where it is and
/// the ways to its stops.
final class WrittenVehicles: Sendable {
    /// What stays of one vehicle; an object, as it is looked up for each answer.
    private final class Written: Sendable {
        let hasEnumNumbers: Bool
        /// What stays of the vehicle as bytes, to be compared with one that was read anew; `nil` where it has none.
        let image: [UInt8]?
        /// The same as JSON, without the brace at its end.
        let text: [UInt8]
        let stops: [TripWaypoint]
        /// Each stop without the way to it and the brace at its end.
        let texts: [[UInt8]]
        /// The vehicle as it was written last.
        private let vehicle: Locked<Vehicle>

        init(
            _ vehicle: Vehicle, image: [UInt8]?, text: [UInt8], stops: [TripWaypoint], texts: [[UInt8]],
            hasEnumNumbers: Bool
        ) {
            self.vehicle = Locked(vehicle)
            self.image = image
            self.text = text
            self.stops = stops
            self.texts = texts
            self.hasEnumNumbers = hasEnumNumbers
        }

        /// How long the parts are together.
        var bytes: Int { self.texts.reduce(self.text.count + (self.image?.count ?? 0)) { $0 + $1.count } }

        /// Whether these are the parts of a vehicle that is written now.
        func holds(_ shown: ShownVehicle) -> Bool {
            guard isSameInstance(self.stops, shown.stops) else { return false }
            let last = self.vehicle.withLock(\.self)
            let isReported = shown.former.map { isSameInstance($0, last) } ?? false
            guard isReported || shown.vehicle.differsByReportOnly(from: last) else { return false }
            // What it was before is kept no longer.
            self.vehicle.withLock { $0 = shown.vehicle }
            return true
        }
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
        if let known, known.holds(shown) { return known }
        let image = MessageImage.bytes(
            of: shown.vehicle, leavingOut: Vehicle.changingFields, expecting: known?.image?.count ?? 512)
        let text =
            if let known, image != nil, known.image == image { known.text } else {
                try Self.open(shown.vehicle.lasting, hasEnumNumbers)
            }
        var texts: [[UInt8]] = []
        if let known, isSameInstance(known.stops, shown.stops) {
            texts = known.texts
        } else {
            for stop in shown.stops { texts.append(try Self.open(stop.withoutLeg, hasEnumNumbers)) }
        }
        let written = Written(
            shown.vehicle, image: image, text: text, stops: shown.stops, texts: texts, hasEnumNumbers: hasEnumNumbers)
        if written.bytes <= Self.maximumBytes { self.recent.keep(written, for: name) }
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

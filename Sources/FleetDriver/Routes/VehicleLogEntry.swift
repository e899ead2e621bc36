// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

/// A JSON object whose keys are found whatever their spelling: `lastLocation`, `lastlocation` or `last_location`.
struct LogObject {
    private let members: [String: Any]

    init?(_ value: Any?) {
        guard let members = value as? [String: Any] else { return nil }
        self.members = Dictionary(
            members.map { (Self.folded($0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    func value(_ key: String) -> Any? { self.members[key] }
    func object(_ key: String) -> LogObject? { LogObject(self.members[key]) }
    func string(_ key: String) -> String? { self.members[key] as? String }
    func number(_ key: String) -> Double? { (self.members[key] as? NSNumber)?.doubleValue }
    func time(_ key: String) -> Date? { self.string(key).flatMap { RFC3339.date($0) } }

    private static func folded(_ key: String) -> String {
        key.lowercased().replacingOccurrences(of: "_", with: "")
    }
}

/// One update of a vehicle in a recording.
struct VehicleLogEntry {
    /// The id of the vehicle.
    let vehicle: String
    private let location: LogObject
    private let loggedAt: Date?

    /// Reads an entry; `nil` for one of another kind or without a location.
    init?(_ entry: Any) {
        guard let entry = LogObject(entry), let payload = entry.object("jsonpayload"),
            payload.string("@type").map({ $0.hasSuffix("UpdateVehicleLog") || $0.hasSuffix("UpdateDeliveryVehicleLog") }
            )
                ?? true,
            let request = payload.object("request"),
            let vehicle = request.object("vehicle") ?? request.object("deliveryvehicle"),
            let location = vehicle.object("lastlocation"),
            let id = request.string("vehicleid") ?? request.string("deliveryvehicleid")
                ?? vehicle.string("name")?.utf8.split(separator: UInt8(ascii: "/")).last.map({ String(Substring($0)) })
        else { return nil }
        self.vehicle = id
        self.location = location
        self.loggedAt = entry.time("timestamp")
    }

    /// Where the vehicle was, on the road where the recording says so; `nil` without a position or a time.
    func fix() throws(DriverError) -> LocationFix? {
        guard let point = self.location.object("location") ?? self.location.object("rawlocation"),
            point.number("latitude") != nil || point.number("longitude") != nil,
            let time = self.location.time("rawlocationtime") ?? self.location.time("updatetime") ?? self.loggedAt
        else { return nil }
        return try LocationFix(
            // The service leaves out a value that is zero.
            latitude: point.number("latitude") ?? 0,
            longitude: point.number("longitude") ?? 0,
            heading: self.location.number("heading"),
            speed: self.location.number("speed"),
            altitude: self.location.number("altitude"),
            accuracy: self.location.number("latlngaccuracy") ?? self.location.number("rawlocationaccuracy"),
            time: time
        )
    }
}

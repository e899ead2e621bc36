// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftProtobuf

/// One exchange of a recording, with its messages in the JSON form of the API.
struct RecordedExchange {
    /// The kind of log entry, such as `UpdateVehicleLog`.
    let kind: String
    /// When the service did its work, as far as the response tells, or else when it had answered.
    ///
    /// Calls that overlapped were answered in another order than they took effect in.
    let time: Date
    /// The request, in the log's own shape but with the API's names and values.
    let request: [String: Any]
    /// The response, likewise.
    let response: [String: Any]
    /// Whether the service refused.
    let isRefused: Bool

    /// The folder of the recordings; outside the package, and not everywhere.
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../../../../shared/data/recordings")

    /// Whether a recording is at hand.
    static func exists(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: Self.folder.appending(path: name).path)
    }

    /// Reads the exchanges of a recording in the order of their times.
    static func read(_ name: String) throws -> [Self] {
        let data = try Data(contentsOf: Self.folder.appending(path: name))
        guard let object = try JSONSerialization.jsonObject(with: data) as? [String: Any],
            let entries = object["rawLogs"] as? [[String: Any]]
        else { return [] }
        return try entries.map(Self.init).sorted { $0.time < $1.time }
    }

    private init(entry: [String: Any]) throws {
        let entry = Dictionary(entry.map { ($0.key.lowercased(), $0.value) }) { first, _ in first }
        let payload = entry["jsonpayload"] as? [String: Any] ?? [:]
        self.kind = (payload["@type"] as? String ?? "").split(separator: ".").last.map(String.init) ?? ""
        self.request = LogSchema.translate(payload["request"]) as? [String: Any] ?? [:]
        self.response = LogSchema.translate(payload["response"]) as? [String: Any] ?? [:]
        let stamp = Self.workTime(self.request, self.response) ?? entry["timestamp"] as? String ?? ""
        self.time = try Google_Protobuf_Timestamp(jsonString: "\"\(stamp)\"").date
        self.isRefused = payload.contains { $0.lowercased() == "errorresponse" && !($1 is NSNull) }
    }

    private static func workTime(_ request: [String: Any], _ response: [String: Any]) -> String? {
        if request["vehicle"] != nil { return (response["lastLocation"] as? [String: Any])?["serverTime"] as? String }
        switch (request["trip"] as? [String: Any])?["tripStatus"] as? String {
        case "ENROUTE_TO_DROPOFF": return response["pickupTime"] as? String
        case "COMPLETE": return response["dropoffTime"] as? String
        default: return nil
        }
    }

    /// A part of the exchange as a message; the log's own fields are passed over.
    static func message<Value: Message>(_ object: Any?, as type: Value.Type) throws -> Value {
        var options = JSONDecodingOptions()
        options.ignoreUnknownFields = true
        let data = try JSONSerialization.data(withJSONObject: object ?? [String: Any]())
        return try Value(jsonUTF8Bytes: data, options: options)
    }
}

/// How the log writes names and values, and how the API does.
enum LogSchema {
    private static let renamed = [
        "state": "vehicleState", "status": "tripStatus", "navstatus": "navigationStatus",
        "locsensor": "locationSensor", "supportedtrips": "supportedTripTypes", "vehiclecategory": "category",
        "type": "waypointType",
    ]

    private static let names = [
        "name", "vehicleId", "tripId", "tripType", "pickupPoint", "dropoffPoint", "pickupTime", "dropoffTime",
        "numberOfPassengers", "actualPickupPoint", "actualDropoffPoint", "remainingWaypoints", "vehicleWaypoints",
        "encodedPathToWaypoint", "currentRouteSegment", "currentRouteSegmentEndPoint", "currentRouteSegmentTraffic",
        "speedReadingInterval", "startPolylinePointIndex", "endPolylinePointIndex", "trafficRendering",
        "roadStretch", "offsetMeters", "lengthMeters", "etaToFirstWaypoint", "remainingTimeToFirstWaypoint",
        "remainingDistanceMeters", "remainingTimeSeconds", "lastLocation", "rawLocation", "rawLocationAccuracy",
        "rawLocationSensor", "rawLocationTime", "isGpsSensorEnabled", "isRoadSnapped", "latlngAccuracy",
        "headingAccuracy", "altitudeAccuracy", "speedAccuracy", "serverTime", "updateTime",
        "supplementalLocationAccuracy", "maximumCapacity", "vehicleType", "currentTrips", "deviceSettings",
        "batteryInfo", "batteryPercentage", "batteryStatus", "powerSource", "isInteractive",
        "locationPowerSaveMode", "updateMask",
    ]

    private static let byLowerCase = Dictionary(names.map { ($0.lowercased(), $0) }) { first, _ in first }
        .merging(renamed) { _, renamed in renamed }

    /// The log's prefix or suffix of a value, and what the API has there.
    private static let values: [(mark: String, prefix: String)] = [
        ("VEHICLE_STATE_", ""), ("TRIP_STATUS_", ""), ("LOCATION_SENSOR_", ""), ("NAVIGATION_STATUS_", ""),
        ("BATTERY_STATUS_LOG_", "BATTERY_STATUS_"), ("POWER_SOURCE_LOG_", "POWER_SOURCE_"),
        ("LOCATION_POWER_SAVE_MODE_LOG_", "LOCATION_MODE_"), ("STYLE_", ""),
    ]

    /// Translates an object of the log, nested ones included.
    static func translate(_ value: Any?) -> Any? {
        switch value {
        case let object as [String: Any]:
            Dictionary(
                object.compactMap { key, value -> (String, Any)? in
                    guard let translated = Self.translate(value) else { return nil }
                    return (Self.byLowerCase[key.lowercased()] ?? key.lowercased(), translated)
                }
            ) { first, _ in first }
        case let list as [Any]: list.compactMap(Self.translate)
        case let text as String: Self.translate(text)
        default: value
        }
    }

    private static func translate(_ text: String) -> String {
        switch text {
        case "EXCLUSIVE_TRIP": return "EXCLUSIVE"
        case "SHARED_TRIP": return "SHARED"
        case "WAYPOINT_TYPE_PICKUP": return "PICKUP_WAYPOINT_TYPE"
        case "WAYPOINT_TYPE_DROP_OFF": return "DROP_OFF_WAYPOINT_TYPE"
        default: break
        }
        for (mark, prefix) in Self.values where text.hasPrefix(mark) { return prefix + text.dropFirst(mark.count) }
        return text
    }
}

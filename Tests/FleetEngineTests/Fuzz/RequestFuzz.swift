// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes

@testable import FleetEngine

/// Makes requests of names, fields and values that the API knows, put together by chance.
struct RequestFuzz {
    struct Request {
        let verb: HTTPRequest.Method
        let uri: String
        let body: [UInt8]
        let token: String
    }

    private var state: UInt64

    init(_ seed: UInt64) { self.state = seed }

    private static let ids = ["veh-1", "trip-1", "task-1", "dv-1", "a", "", "%2F", "..", "é", "*", "a%20b", "a:b"]
    private static let fields = [
        "name", "vehicleState", "vehicle_state", "supportedTripTypes", "maximumCapacity", "vehicleType", "category",
        "lastLocation", "location", "latitude", "longitude", "heading", "speed", "updateTime", "rawLocation",
        "rawLocationTime", "attributes", "key", "value", "listValue", "numberValue", "waypoints", "latLng",
        "encodedPointsToWaypoint", "backToBackEnabled", "currentRouteSegment", "navigationStatus", "tripType",
        "pickupPoint", "dropoffPoint", "point", "terminalPointId", "intermediateDestinations", "vehicleWaypoints",
        "numberOfPassengers", "tripStatus", "vehicleId", "view", "type", "state", "taskOutcome", "trackingId",
        "plannedLocation", "taskDuration", "targetTimeWindow", "startTime", "endTime",
        "remainingVehicleJourneySegments",
        "stop", "tasks", "taskId", "requests", "parent", "vehicle", "trip", "task", "deliveryVehicle", "updateMask",
        "header", "pickupRadiusMeters", "count", "minimumCapacity", "tripTypes", "vehicleTypes", "orderBy", "filter",
        "pageSize", "pageToken", "taskTrackingViewConfig", "routePolylinePointsVisibility",
        "remainingStopCountThreshold",
    ]
    private static let texts = [
        "", "ONLINE", "EXCLUSIVE", "AUTO", "NEW", "COMPLETE", "CANCELED", "PICKUP", "DELIVERY", "OPEN", "CLOSED",
        "SUCCEEDED", "veh-1", "trip-1", "task-1", "providers/acme/vehicles/veh-1", "providers/acme/trips/trip-1",
        "providers/acme", "providers/acme/tasks/task-1", "providers/acme/deliveryVehicles/dv-1", "providers/other",
        "2026-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "0001-01-01T00:00:00Z", "300s", "-1s",
        "315576000000s", "NaN", "Infinity", "-Infinity", "1e400", "AAAA", "*", "state", "trip_status", "last_location",
        "state = OPEN AND attributes.a = \"b\"", "(((((", "NOT", "a:b", "\u{0}", "é\u{301}\u{202E}",
        "PICKUP_POINT_ETA", "SINCE_LAST_UPDATE",
    ]
    private static let names = [
        "providers/acme", "providers/acme/vehicles/veh-1", "providers/acme/trips/trip-1", "providers/acme/tasks/task-1",
        "providers/acme/deliveryVehicles/dv-1", "providers/other", "providers/acme/vehicles/",
    ]
    private static let integers: [Int64] = [
        0, 1, -1, 2, 3, 4, 7, 50, 100, 1000, 32767, 2_147_483_647, -2_147_483_648, 4_294_967_296, .max, .min,
        253_402_300_799, 315_576_000_000, 999_999_999,
    ]
    private static let doubles: [Double] = [
        0, -0.0, 37.4, -122.1, 90, -90, 180, -180, 180.000_1, 1e9, -1e300, 1e-300, .infinity, -.infinity, .nan,
    ]

    mutating func number() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(self.number() % UInt64(bound)) }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[self.below(elements.count)] }

    mutating func token() -> String {
        switch self.below(12) {
        case 0: "driver|vehicleid=veh-1"
        case 1: "bad|"
        case 2...6: deliveryToken
        default: serverToken
        }
    }

    // MARK: - REST

    mutating func request() -> Request {
        let rule = self.pick(HTTPRule.all)
        let path = rule.path.split(separator: "*", omittingEmptySubsequences: false).map(String.init)
        var uri = "/v1/providers/\(self.below(20) == 0 ? "other" : "acme")/" + path[0]
        for part in path.dropFirst() { uri += self.pick(Self.ids) + part }
        var query: [String] = []
        for name in rule.query.keys.sorted() where self.below(2) == 0 {
            query.append("\(name)=\(self.encoded(self.pick(Self.texts + Self.fields)))")
        }
        if self.below(6) == 0 {
            query.append("\(self.encoded(self.pick(Self.fields)))=\(self.encoded(self.pick(Self.texts)))")
        }
        if self.below(10) == 0 { query.append("$alt=json;enum-encoding=int") }
        if !query.isEmpty { uri += "?" + query.joined(separator: "&") }
        let isDelivery = uri.contains("task") || uri.contains("delivery")
        return Request(
            verb: self.below(30) == 0 ? self.pick(HTTPRule.verbs) : rule.verb, uri: uri, body: self.body(),
            token: self.below(8) == 0 ? self.token() : isDelivery ? deliveryToken : serverToken)
    }

    private func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    private mutating func body() -> [UInt8] {
        if self.below(3) == 0 { return Array(self.pick(Self.goodBodies).utf8) }
        var bytes = Array((self.below(3) == 0 ? self.pick(Self.goodBodies) : self.object(depth: 0)).utf8)
        if self.below(8) == 0, !bytes.isEmpty {
            bytes[self.below(bytes.count)] = UInt8(truncatingIfNeeded: self.number())
        }
        if self.below(20) == 0 { bytes.removeLast(min(bytes.count, self.below(8))) }
        return bytes
    }

    private static let place = #"{"point":{"latitude":37.4,"longitude":-122.1}}"#
    private static let goodBodies = [
        #"{"vehicleState":"ONLINE","supportedTripTypes":["EXCLUSIVE"],"maximumCapacity":4,"#
            + #""vehicleType":{"category":"AUTO"}}"#,
        #"{"tripType":"EXCLUSIVE","pickupPoint":"# + Self.place + #","numberOfPassengers":1}"#,
        #"{"type":"PICKUP","state":"OPEN","trackingId":"t1","taskDuration":"300s","plannedLocation":"# + Self.place
            + "}",
        #"{"lastLocation":{"location":{"latitude":37.4,"longitude":-122.1},"heading":90}}"#,
        #"{"remainingVehicleJourneySegments":[{"stop":{"plannedLocation":"# + Self.place
            + #","tasks":[{"taskId":"task-1"}],"state":"NEW"}}]}"#,
        "{}",
    ]

    private mutating func object(depth: Int) -> String {
        let members = (0..<self.below(5)).map { _ in "\"\(self.pick(Self.fields))\":\(self.value(depth: depth + 1))" }
        return "{" + members.joined(separator: ",") + "}"
    }

    private mutating func value(depth: Int) -> String {
        switch self.below(depth < 6 ? 10 : 6) {
        case 0: return "null"
        case 1: return self.below(2) == 0 ? "true" : "false"
        case 2: return "\(self.pick(Self.integers))"
        case 3:
            let number = self.pick(Self.doubles)
            return number.isFinite ? "\(number)" : "1e400"
        case 4, 5: return self.quoted(self.pick(Self.texts))
        case 6: return "[" + (0..<self.below(4)).map { _ in self.value(depth: depth + 1) }.joined(separator: ",") + "]"
        default: return self.object(depth: depth)
        }
    }

    private func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\u{0}", with: "\\u0000")
            + "\""
    }

    // MARK: - gRPC

    /// Fields of low numbers and any type in Protocol Buffers' encoding; names where names are likely.
    mutating func message(depth: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        if depth == 0 {
            // What calls address: a name or parent is field 3 of nearly every request, a new id often field 4.
            if self.below(8) > 0 { Self.append(3, self.pick(Self.names), to: &bytes) }
            if self.below(3) == 0 { Self.append(4, self.pick(Self.ids), to: &bytes) }
        }
        for _ in 0..<self.below(6) {
            let field = 1 + self.below(24)
            switch self.below(8) {
            case 0, 1:
                Self.append(varint: UInt64(field << 3), to: &bytes)
                Self.append(varint: UInt64(bitPattern: self.pick(Self.integers)), to: &bytes)
            case 2:
                Self.append(varint: UInt64(field << 3 | 1), to: &bytes)
                withUnsafeBytes(of: self.pick(Self.doubles).bitPattern.littleEndian) { bytes += $0 }
            case 3:
                Self.append(varint: UInt64(field << 3 | 5), to: &bytes)
                withUnsafeBytes(of: Float(self.pick(Self.doubles)).bitPattern.littleEndian) { bytes += $0 }
            case 4: Self.append(field, self.pick(Self.texts), to: &bytes)
            default:
                let inner = depth < 5 ? self.message(depth: depth + 1) : []
                Self.append(varint: UInt64(field << 3 | 2), to: &bytes)
                Self.append(varint: UInt64(inner.count), to: &bytes)
                bytes += inner
            }
        }
        if depth == 0, self.below(10) == 0, !bytes.isEmpty {
            bytes[self.below(bytes.count)] = UInt8(truncatingIfNeeded: self.number())
        }
        return bytes
    }

    private static func append(_ field: Int, _ text: String, to bytes: inout [UInt8]) {
        self.append(varint: UInt64(field << 3 | 2), to: &bytes)
        self.append(varint: UInt64(text.utf8.count), to: &bytes)
        bytes += text.utf8
    }

    private static func append(varint value: UInt64, to bytes: inout [UInt8]) {
        var value = value
        while value >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
            value >>= 7
        }
        bytes.append(UInt8(value))
    }
}

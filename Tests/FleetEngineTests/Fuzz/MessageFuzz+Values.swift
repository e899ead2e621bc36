// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import SwiftProtobuf

@testable import FleetEngine

extension MessageFuzz {
    /// The fields of resources that an update mask may name.
    static let writable = [
        Vehicle.protoMessageName: Self.writable(VehicleFields.table),
        Trip.protoMessageName: Self.writable(TripFields.table),
        DeliveryVehicle.protoMessageName: Self.writable(DeliveryVehicleFields.table),
        DeliveryTask.protoMessageName: Self.writable(TaskFields.table),
    ]

    private static func writable<Resource>(_ table: FieldTable<Resource>) -> [String] {
        let fields = FuzzSchema.publicAPI.messages[Resource.protoMessageName] ?? []
        return fields.map(\.name).filter { (try? table.select(.of($0))) != nil }
    }

    static let ids = [
        "vehicles": ["veh-1", "veh-2", "veh-3"], "trips": ["trip-1", "trip-2", "trip-3"],
        "billableTrips": ["trip-1", "nobody"], "deliveryVehicles": ["dv-1", "dv-2", "dv-3"],
        "tasks": ["task-1", "task-2", "task-3"], "taskTrackingInfo": ["shp-1", "shp-2", "shp-3"],
    ]
    static let wildIDs = [
        "", "*", "..", "é", "e\u{301}", "a b", "a:b", "a/b", "a?b", "\u{0}", "\u{202E}", "%2F",
        String(repeating: "a", count: 64), String(repeating: "a", count: 65), "\u{1F697}",
    ]
    static let texts = [
        "", "a", "class", "b", "2026-01-01T00:00:00Z", "NaN", "null", "*", "last_location", "AAAA", "é\u{301}\u{202E}",
        "\u{0}", "\"", "\\", "-1", "DE", "7", "_p~iF~ps|U_ulLnnqC_mqNvxq`@", String(repeating: "x", count: 1025),
    ]
    static let paths = [
        "*", "", "name", "a", "last_location.location.latitude", "waypoints.trip_id", "lastLocation", "vehicle_state.",
        ".", "trip_status,", "task_outcome_location", "attributes.key", "\u{0}", "update_mask",
    ]
    static let integers: [Int64] = [
        0, 1, -1, 2, 3, 4, 7, 50, 100, 101, 500, 501, 1000, 1001, 32_767, 2_147_483_647, -2_147_483_648, 4_294_967_296,
        .max, .min, 253_402_300_799, 253_402_300_800, -62_135_596_801, 315_576_000_000, 999_999_999, 1_000_000_000,
        2_147_483_648, 3_000_000_000, -3_000_000_000,
    ]
    static let reals: [Double] = [
        0, -0.0, 1, -1, 90, -90, 90.000_000_1, 180, -180, 180.000_1, 359.9, 360, 1e9, -1e300, 1e300,
        .leastNonzeroMagnitude, 1e-300,
        .infinity, -.infinity, .nan, .greatestFiniteMagnitude, 9_007_199_254_740_992,
    ]
    static let times = [
        FuzzTime(json: "0001-01-01T00:00:00Z", seconds: -62_135_596_800, nanos: 0),
        FuzzTime(json: "9999-12-31T23:59:59.999999999Z", seconds: 253_402_300_799, nanos: 999_999_999),
        FuzzTime(json: "1969-12-31T23:59:59.5Z", seconds: -1, nanos: 500_000_000),
        FuzzTime(json: "0000-00-00T00:00:00Z", seconds: .min, nanos: .min),
        FuzzTime(json: "99999-01-01T00:00:00Z", seconds: .max, nanos: .max),
        FuzzTime(json: "2027-01-15T08:00:00+23:59", seconds: 253_402_300_800, nanos: 0),
        FuzzTime(json: "yesterday", seconds: 0, nanos: -1), FuzzTime(json: "", seconds: 1, nanos: 1_000_000_000),
    ]
    static let durations = [
        FuzzTime(json: "0s", seconds: 0, nanos: 0), FuzzTime(json: "-1s", seconds: -1, nanos: 0),
        FuzzTime(json: "315576000000s", seconds: 315_576_000_000, nanos: 0),
        FuzzTime(json: "315576000001s", seconds: 315_576_000_001, nanos: 999_999_999),
        FuzzTime(json: "0.000000001s", seconds: 0, nanos: 1), FuzzTime(json: "1", seconds: .max, nanos: .max),
        FuzzTime(json: "9223372036854775807s", seconds: .min, nanos: .min),
        FuzzTime(json: "1s", seconds: 1, nanos: -1), FuzzTime(json: "NaNs", seconds: 31_622_400, nanos: 1),
    ]

    static func seconds(_ count: Int) -> FuzzTime { FuzzTime(json: "\(count)s", seconds: Int64(count), nanos: 0) }

    /// A time of the day on which the engine's clock stands.
    mutating func nearTime() -> FuzzTime {
        let (hour, minute) = (self.random.below(24), self.random.below(60))
        let padded = [hour, minute].map { ($0 < 10 ? "0" : "") + "\($0)" }
        return FuzzTime(
            json: "2027-01-15T\(padded[0]):\(padded[1]):00Z", seconds: 1_799_971_200 + Int64(hour * 3600 + minute * 60),
            nanos: 0)
    }

    /// A number as a field of this name wants it.
    mutating func integer(of name: String) -> Int64 {
        guard !self.isWild() else { return self.random.pick(Self.integers) }
        return switch name {
        case "pickup_radius_meters": Int64(400 + self.random.below(9601))
        case "count": Int64(1 + self.random.below(50))
        case "minimum_capacity", "number_of_passengers": Int64(1 + self.random.below(4))
        case "heading", "flp_heading_degrees": Int64(self.random.below(360))
        case "battery_percentage": Int64(self.random.below(101))
        case "intermediate_destination_index": Int64(self.random.below(3))
        default: Int64(self.random.pick([1, 2, 4, 100, 400]))
        }
    }

    mutating func real(of name: String) -> Double {
        guard !self.isWild() else { return self.random.pick(Self.reals) }
        let fraction = Double(self.random.below(1000)) / 20_000
        return switch name {
        case "latitude": 37.4 + fraction
        case "longitude": -122.1 + fraction
        default: fraction * 100
        }
    }

    /// A text as a field of this name wants it.
    mutating func text(of name: String, in message: String) -> String {
        if self.isWild() {
            if self.random.below(400) == 0 {
                return String(repeating: self.random.pick(["a", "(", "é", "\u{0}"]), count: 20_000)
            }
            return self.random.pick(self.random.below(2) == 0 ? Self.wildIDs : Self.texts)
        }
        return switch name {
        case "parent": "providers/acme"
        case "name": self.name(in: message)
        case "vehicle_id", "current_trips": self.id(of: name == "vehicle_id" ? "vehicles" : "trips")
        case "trip_id": self.id(of: "trips")
        case "delivery_vehicle_id": self.id(of: "deliveryVehicles")
        case "task_id": self.id(of: "tasks")
        case "tracking_id": self.id(of: "taskTrackingInfo")
        case "filter": self.page?.filter ?? self.filter(depth: 0)
        case "page_token": self.page?.token ?? self.pageToken()
        case "country_code": "DE"
        case "last_character": self.random.pick(["", "7", "-1"])
        case "key": self.random.pick(["class", "a", "b", "é", "e\u{301}", "\u{202E}", "last_location", "*"])
        case "required_attributes": self.attribute()
        case "required_one_of_attributes", "required_one_of_attribute_sets":
            self.attribute() + (self.random.below(2) == 0 ? "" : "|" + self.attribute())
        default: self.random.pick(Self.texts)
        }
    }

    /// An id of something that is there, or one that few have.
    mutating func id(of collection: String) -> String {
        if self.random.below(4) < (collection == self.collection ? self.strangers : 1) {
            return "new-\(self.random.below(30))"
        }
        return self.random.pick(Self.ids[collection] ?? [""])
    }

    /// The name of what the call addresses, or of a resource within it.
    private mutating func name(in message: String) -> String {
        let collection: String =
            switch message {
            case "maps.fleetengine.v1.Vehicle": "vehicles"
            case "maps.fleetengine.v1.Trip": "trips"
            case "maps.fleetengine.delivery.v1.DeliveryVehicle": "deliveryVehicles"
            case "maps.fleetengine.delivery.v1.Task": "tasks"
            default: self.collection
            }
        return "providers/acme/\(collection)/\(self.id(of: collection))"
    }

    private mutating func pageToken() -> String {
        let token = self.random.pick(self.pages.map(\.token) + ["", ""])
        guard self.random.below(3) == 0, !token.isEmpty else { return token }
        var bytes = Array(token.utf8)
        bytes[self.random.below(bytes.count)] = self.random.pick(Array("AZaz09-_=".utf8))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// An attribute as lists of vehicles are told it.
    private mutating func attribute() -> String {
        self.random.pick(["class", "a", "é"]) + ":" + self.random.pick(["x", "", "a", ":", "\u{0}"])
    }

    /// A filter of AIP-160, nearly always.
    private mutating func filter(depth: Int) -> String {
        switch self.random.below(depth < 4 ? 12 : 6) {
        case 0: return ""
        case 6: return "NOT " + self.filter(depth: depth + 1)
        case 7: return "-" + self.filter(depth: depth + 1)
        case 8: return "(" + self.filter(depth: depth + 1) + (self.isWild() ? "" : ")")
        case 9: return self.filter(depth: depth + 1) + " OR " + self.filter(depth: depth + 1)
        case 10: return self.filter(depth: depth + 1) + " AND " + self.filter(depth: depth + 1)
        case 11: return self.filter(depth: depth + 1) + " " + self.filter(depth: depth + 1)
        default: return self.condition()
        }
    }

    /// A condition that a filter of these resources may have, nearly always.
    private mutating func condition() -> String {
        let texts = ["\"x\"", "'y'", "x", "\"*x*\"", "\"\\\"\"", "\"\"", "shp-1"]
        if self.random.below(8) == 0 {
            let fields = ["attributes.", "state", "taskOutcomeTime", "name", "unknown"]
            return self.random.pick(fields) + self.random.pick([" = ", "<", " : "])
                + self.random.pick(texts + ["\"", "-1", "AND", "\"2027-01-15T08:00:00Z\""])
        }
        let equality = self.random.pick([" = ", "=", " != "])
        switch self.random.below(self.collection == "tasks" ? 6 : 2) {
        case 0, 1: return self.random.pick(["attributes.class", "attributes.é"]) + equality + self.random.pick(texts)
        case 2: return "state" + equality + self.random.pick(["OPEN", "CLOSED"])
        case 3: return self.random.pick(["type\(equality)PICKUP", "task_outcome\(equality)SUCCEEDED"])
        case 4:
            return self.random.pick(["taskOutcomeTime", "task_outcome_time"])
                + self.random.pick([equality, "<", ">=", "<=", " > "]) + "\"2027-01-15T08:00:00Z\""
        default:
            return self.random.pick(["tracking_id", "delivery_vehicle_id", "name"]) + equality
                + self.random.pick(texts)
        }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTestSupport
import Foundation
import SwiftProtobuf

@testable import FleetEngine

/// Draws messages by their descriptors: most of them nearly right, with values from the edges.
struct MessageFuzz {
    var random: SeededGenerator
    let schema = FuzzSchema.publicAPI
    /// What a call addresses, such as `vehicles`.
    let collection: String
    /// What follows the first pages of some lists.
    let pages: [FuzzPage]
    /// How likely a value is anything but what its field wants.
    let wildness: Double
    /// How likely a field is there that need not be.
    let density: Double
    /// What an update is about: fields that are in its mask and in its resource.
    private(set) var focus: Set<String> = []
    /// The page that a list is asked for, whose token is good with its query only.
    private(set) var page: FuzzPage?
    /// How many of four ids that the call addresses are rarely there: more where it creates, and where it deletes, so that
    /// the world neither fills nor empties.
    private(set) var strangers = 1

    /// Draws how wild and how full the messages are, unless it is said.
    init(_ random: SeededGenerator, collection: String, pages: [FuzzPage], wildness: Double? = nil) {
        self.random = random
        self.collection = collection
        self.pages = pages
        let drawn = self.random.pick([0, 0, 0.02, 0.1, 0.4])
        self.wildness = wildness ?? drawn
        self.density = self.random.pick([0, 0.05, 0.2, 0.6])
    }

    /// Whether something is to be wrong here.
    mutating func isWild() -> Bool { self.wildness > 0 && self.random.chance(self.wildness) }

    /// Draws a request.
    mutating func request(_ name: String) -> FuzzValue {
        let fields = self.schema.messages[name] ?? []
        if let mask = fields.first(where: { $0.name == "update_mask" }),
            let resource = fields.first(where: { $0.type == .message && $0.name != "header" && $0.name != mask.name })
        {
            let names = (self.schema.messages[resource.typeName] ?? []).map(\.name)
            let writable = Self.writable[resource.typeName] ?? names
            for _ in 0...self.random.below(3) {
                self.focus.insert(self.random.pick(self.random.below(12) == 0 ? names : writable))
            }
        }
        self.strangers = name.contains("Create") ? 3 : name.contains("Delete") ? 2 : 1
        let pages = self.pages.filter { $0.request == name }
        if !pages.isEmpty, self.random.below(3) == 0 { self.page = self.random.pick(pages) }
        return self.message(name, depth: 0)
    }

    /// Draws a message.
    mutating func message(_ name: String, depth: Int) -> FuzzValue {
        var excluded: Set<String> = []
        for choices in self.schema.exclusions[name] ?? [] where !self.isWild() {
            excluded.formUnion(self.random.pick(choices))
        }
        var members: [(field: FuzzSchema.Field, value: FuzzValue)] = []
        for field in self.schema.messages[name] ?? []
        where !excluded.contains(field.name) && self.includes(field, depth: depth) {
            members.append((field, self.value(of: field, in: name, depth: depth)))
        }
        if !self.isWild() { self.settle(&members, of: name) }
        return .message(members)
    }

    /// Makes fields agree that are good together only.
    private mutating func settle(_ members: inout [(field: FuzzSchema.Field, value: FuzzValue)], of name: String) {
        func place(_ field: String) -> Int? { members.firstIndex { $0.field.name == field } }
        if name == DeliveryTask.protoMessageName, let type = place("type") {
            let types: [DeliveryTask.TypeEnum] =
                place("tracking_id") == nil ? [.scheduledStop, .unavailable] : [.pickup, .delivery]
            members[type].value = .choice(self.random.pick(types).rawValue)
        }
        if name == SearchVehicles.Request.protoMessageName, let types = place("trip_types"),
            let order = place("order_by")
        {
            let isWithoutDropoff = place("dropoff_point") == nil
            if isWithoutDropoff || place("current_trips_present") == nil {
                members[types].value = .list([.choice(TripType.exclusive.rawValue)])
            }
            if isWithoutDropoff {
                let orders: [SearchVehicles.Request.VehicleMatchOrder] = [
                    .pickupPointEta, .pickupPointDistance, .pickupPointStraightDistance, .cost,
                ]
                members[order].value = .choice(self.random.pick(orders).rawValue)
            }
        }
        for (first, last) in [("low", "high"), ("start_time", "end_time")] {
            guard let first = place(first), let last = place(last), members[last].value < members[first].value
            else { continue }
            (members[first].value, members[last].value) = (members[last].value, members[first].value)
        }
    }

    private mutating func includes(_ field: FuzzSchema.Field, depth: Int) -> Bool {
        if depth == 0, let page {
            let query: Set = ["parent", "page_token", page.filter.isEmpty ? "" : "filter"]
            if !["header", "page_size"].contains(field.name) { return query.contains(field.name) != self.isWild() }
        }
        if field.isForLater, self.focus.isEmpty, !self.isWild() { return false }
        let isWanted =
            switch depth {
            case 1: self.focus.isEmpty ? field.isEssential : self.focus.contains(field.name) || field.name == "name"
            default: field.isEssential
            }
        if isWanted { return !self.isWild() }
        return depth < 8 && self.random.chance(self.density)
    }

    private mutating func value(of field: FuzzSchema.Field, in message: String, depth: Int) -> FuzzValue {
        guard field.isRepeated else { return self.element(of: field, in: message, depth: depth) }
        let count: Int =
            if self.isWild() {
                self.random.pick([0, 5, 30, 60])
            } else if field.name == "trip_types", field.isEssential {
                1
            } else {
                self.random.below(3) + (field.isEssential ? 1 : 0)
            }
        return .list((0..<count).map { _ in self.element(of: field, in: message, depth: depth) })
    }

    private mutating func element(of field: FuzzSchema.Field, in message: String, depth: Int) -> FuzzValue {
        switch field.type {
        case .message, .group: self.messageValue(of: field, depth: depth)
        case .bytes where self.wildness == 0: .data(Array(self.text(of: field.name, in: message).utf8))
        case .string, .bytes: .text(self.text(of: field.name, in: message))
        case .enum: self.choice(of: field, in: message)
        case .bool: .flag(self.random.below(2) == 0)
        case .double, .float: .real(self.real(of: field.name))
        default: .integer(self.integer(of: field.name))
        }
    }

    private mutating func choice(of field: FuzzSchema.Field, in message: String) -> FuzzValue {
        if self.isWild() { return .integer(self.random.pick(Self.integers)) }
        if message == DeliveryTask.protoMessageName, field.name == "state", self.focus.isEmpty {
            return .choice(DeliveryTask.State.open.rawValue)
        }
        // Half of them of one kind, or searches would find hardly any.
        if field.name == "category", self.random.below(2) == 0 {
            return .choice(Vehicle.VehicleType.Category.auto.rawValue)
        }
        let values = self.schema.enumerations[field.typeName]?.dropFirst() ?? []
        return .choice(values.isEmpty ? 1 : Int(self.random.pick(Array(values)).number))
    }

    private mutating func messageValue(of field: FuzzSchema.Field, depth: Int) -> FuzzValue {
        switch field.typeName {
        case "google.protobuf.Timestamp": .time(self.isWild() ? self.random.pick(Self.times) : self.nearTime())
        case "google.protobuf.Duration":
            .time(self.isWild() ? self.random.pick(Self.durations) : Self.seconds(self.random.below(4000)))
        case "google.protobuf.FieldMask": .mask(self.paths())
        case "google.protobuf.DoubleValue": .wrapped(.real(self.real(of: field.name)))
        case "google.protobuf.Int32Value": .wrapped(.integer(self.integer(of: field.name)))
        case "google.protobuf.BoolValue": .wrapped(.flag(self.random.below(2) == 0))
        default: self.message(field.typeName, depth: depth + 1)
        }
    }

    /// The paths of a mask, every other one in camel case; refusals quote them as they are spelt.
    private mutating func paths() -> [String] {
        var paths = self.focus.sorted().enumerated().map { index, path in
            index.isMultiple(of: 2) ? FieldName.camelCase(path) : path
        }
        if self.isWild() { paths = [] }
        if self.isWild() { paths.append(self.random.pick(Self.paths)) }
        return paths
    }
}

extension SeededGenerator {
    /// A number from 0 up to a bound.
    mutating func below(_ bound: Int) -> Int { Int(self.next() % UInt64(bound)) }

    /// One of some elements.
    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[self.below(elements.count)] }
}

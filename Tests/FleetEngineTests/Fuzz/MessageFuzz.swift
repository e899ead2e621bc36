// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

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
    /// Page tokens that some list gave.
    let pageTokens: [String]
    /// How likely a value is anything but what its field wants.
    let wildness: Double
    /// How likely a field is there that need not be.
    let density: Double
    /// What an update is about: fields that are in its mask and in its resource.
    private(set) var focus: Set<String> = []

    init(_ random: SeededGenerator, collection: String, pageTokens: [String]) {
        self.random = random
        self.collection = collection
        self.pageTokens = pageTokens
        self.wildness = self.random.pick([0, 0, 0.02, 0.1, 0.4])
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
            for _ in 0...self.random.below(3) { self.focus.insert(self.random.pick(names)) }
        }
        return self.message(name, depth: 0)
    }

    /// Draws a message.
    mutating func message(_ name: String, depth: Int) -> FuzzValue {
        var members: [(field: FuzzSchema.Field, value: FuzzValue)] = []
        for field in self.schema.messages[name] ?? [] where self.includes(field, depth: depth) {
            members.append((field, self.value(of: field, in: name, depth: depth)))
        }
        return .message(members)
    }

    private mutating func includes(_ field: FuzzSchema.Field, depth: Int) -> Bool {
        let isWanted =
            switch depth {
            case 0: field.name != "header"
            case 1: self.focus.isEmpty ? field.isEssential : self.focus.contains(field.name) || field.name == "name"
            default: field.isEssential
            }
        if isWanted { return !self.isWild() }
        return depth < 8 && self.random.chance(self.density)
    }

    private mutating func value(of field: FuzzSchema.Field, in message: String, depth: Int) -> FuzzValue {
        guard field.isRepeated else { return self.element(of: field, in: message, depth: depth) }
        let count =
            self.isWild() ? self.random.pick([0, 5, 30, 60]) : self.random.below(3) + (field.isEssential ? 1 : 0)
        return .list((0..<count).map { _ in self.element(of: field, in: message, depth: depth) })
    }

    private mutating func element(of field: FuzzSchema.Field, in message: String, depth: Int) -> FuzzValue {
        switch field.type {
        case .message, .group: self.messageValue(of: field, depth: depth)
        case .string, .bytes: .text(self.text(of: field.name, in: message))
        case .enum:
            self.isWild()
                ? .integer(self.random.pick(Self.integers))
                : .choice(max(1, self.random.below(self.schema.enumerations[field.typeName]?.count ?? 1)))
        case .bool: .flag(self.random.below(2) == 0)
        case .double, .float: .real(self.real(of: field.name))
        default: .integer(self.integer())
        }
    }

    private mutating func messageValue(of field: FuzzSchema.Field, depth: Int) -> FuzzValue {
        switch field.typeName {
        case "google.protobuf.Timestamp": .time(self.isWild() ? self.random.pick(Self.times) : self.nearTime())
        case "google.protobuf.Duration":
            .time(self.isWild() ? self.random.pick(Self.durations) : Self.seconds(self.random.below(4000)))
        case "google.protobuf.FieldMask": .mask(self.paths())
        case "google.protobuf.DoubleValue": .wrapped(.real(self.real(of: field.name)))
        case "google.protobuf.Int32Value": .wrapped(.integer(self.integer()))
        case "google.protobuf.BoolValue": .wrapped(.flag(self.random.below(2) == 0))
        default: self.message(field.typeName, depth: depth + 1)
        }
    }

    private mutating func paths() -> [String] {
        var paths = self.focus.sorted()
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

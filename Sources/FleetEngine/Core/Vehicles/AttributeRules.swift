// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation

/// What the attributes of vehicles and trips have in common.
protocol ResourceAttribute {
    var key: String { get }
    /// The value as text, the form in which attributes are compared; `nil` where none is set.
    var text: String? { get }
    /// The value as a number; `nil` where it is none.
    var number: Double? { get }
}

extension VehicleAttribute: ResourceAttribute {
    var text: String? {
        switch self.vehicleAttributeValue {
        case .stringValue(let text): text
        case .boolValue(let flag): String(flag)
        case .numberValue(let number): AttributeRules.text(number)
        case nil: nil
        }
    }

    var number: Double? { if case .numberValue(let number) = self.vehicleAttributeValue { number } else { nil } }
}

extension DeliveryVehicleAttribute: ResourceAttribute {
    var text: String? {
        switch self.deliveryVehicleAttributeValue {
        case .stringValue(let text): text
        case .boolValue(let flag): String(flag)
        case .numberValue(let number): AttributeRules.text(number)
        case nil: nil
        }
    }

    var number: Double? {
        if case .numberValue(let number) = self.deliveryVehicleAttributeValue { number } else { nil }
    }
}

extension TaskAttribute: ResourceAttribute {
    var text: String? {
        switch self.taskAttributeValue {
        case .stringValue(let text): text
        case .boolValue(let flag): String(flag)
        case .numberValue(let number): AttributeRules.text(number)
        case nil: nil
        }
    }

    var number: Double? { if case .numberValue(let number) = self.taskAttributeValue { number } else { nil } }
}

/// What the attributes of both kinds of vehicles have in common: a legacy text beside the typed value.
protocol VehicleResourceAttribute: ResourceAttribute {
    var value: String { get set }
    var stringValue: String { get set }
    /// Whether the typed value is text.
    var isString: Bool { get }
}

extension VehicleAttribute: VehicleResourceAttribute {
    var isString: Bool { if case .stringValue = self.vehicleAttributeValue { true } else { false } }
}

extension DeliveryVehicleAttribute: VehicleResourceAttribute {
    var isString: Bool { if case .stringValue = self.deliveryVehicleAttributeValue { true } else { false } }
}

extension TripAttribute: ResourceAttribute {
    var text: String? {
        switch self.tripAttributeValue {
        case .stringValue(let text): text
        case .boolValue(let flag): String(flag)
        case .numberValue(let number): AttributeRules.text(number)
        case nil: nil
        }
    }

    var number: Double? { if case .numberValue(let number) = self.tripAttributeValue { number } else { nil } }
}

/// The rules of attributes: at most 100, unique keys without a colon, 256 characters for key and value, finite numbers.
enum AttributeRules {
    static let maximumCount = 100
    static let maximumLength = 256

    /// Whether a text is longer than any of an attribute, however the accents of either are spelled.
    static func isTooLong(_ text: String) -> Bool {
        let count = text.unicodeScalars.count
        guard count > self.maximumLength else { return false }
        // A character takes four at most where its accents are apart; what is longer still is not worth normalising.
        return count > 4 * self.maximumLength
            || text.precomposedStringWithCanonicalMapping.unicodeScalars.count > self.maximumLength
    }

    /// Checks the attributes of a vehicle of either kind and fills the legacy value and the typed one from each other.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    static func accept<Attribute: VehicleResourceAttribute>(
        _ attributes: [Attribute]
    ) throws(EngineError) -> [Attribute] {
        var accepted = attributes
        for index in accepted.indices {
            let legacy = accepted[index].value
            guard let text = accepted[index].text else {
                accepted[index].stringValue = legacy
                continue
            }
            guard legacy.isEmpty || accepted[index].isString else {
                throw self.invalid("hold \"\(accepted[index].key.prefix(64))\" with both value and a typed value")
            }
            guard legacy.isEmpty || legacy == text else {
                throw self.invalid("hold \"\(accepted[index].key.prefix(64))\" with differing value and string_value")
            }
            if accepted[index].isString { accepted[index].value = text }
        }
        try self.check(accepted)
        return accepted
    }

    /// Checks the attributes of any resource.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    static func check(_ attributes: [some ResourceAttribute]) throws(EngineError) {
        guard attributes.count <= self.maximumCount else {
            throw self.invalid("number \(attributes.count); at most \(self.maximumCount) are kept")
        }
        var keys: Set<String> = []
        for attribute in attributes {
            let key = attribute.key
            guard !key.isEmpty else { throw self.invalid("hold one without a key") }
            guard !key.utf8.contains(UInt8(ascii: ":")) else {
                throw self.invalid("hold the key \"\(key.prefix(64))\"; a key has no colon")
            }
            guard key.unicodeScalars.count + 1 + (attribute.text ?? "").unicodeScalars.count <= self.maximumLength
            else {
                throw self.invalid(
                    "hold \"\(key.prefix(64))\", which is too long; KEY:VALUE has at most \(self.maximumLength) characters"
                )
            }
            // What is not a number is not equal to itself, and a resource with it would seem to change at each look.
            guard attribute.number?.isFinite ?? true else {
                throw self.invalid("hold \"\(key.prefix(64))\" with a number that is not finite")
            }
            guard keys.insert(key).inserted else {
                throw self.invalid("hold the key \"\(key.prefix(64))\" twice")
            }
        }
    }

    /// The values of attributes as text, by key; a vehicle's or task's attribute without a value is the empty text.
    static func values(_ attributes: [some ResourceAttribute]) -> [String: String] {
        Dictionary(attributes.map { ($0.key, $0.text ?? "") }) { first, _ in first }
    }

    /// Adds and replaces attributes by key.
    static func merge(_ changes: [VehicleAttribute], into attributes: [VehicleAttribute]) -> [VehicleAttribute] {
        changes.reduce(into: attributes) { merged, change in
            if let index = merged.firstIndex(where: { $0.key == change.key }) {
                merged[index] = change
            } else {
                merged.append(change)
            }
        }
    }

    /// The shortest decimal that reads back as the number, whole numbers without a point.
    static func text(_ number: Double) -> String {
        // Beyond this, Swift writes an exponent.
        number == number.rounded() && abs(number) <= 0x1p54 ? String(Int64(number)) : String(number)
    }

    private static func invalid(_ problem: String) -> EngineError {
        .invalidArgument("The attributes \(problem).", field: "attributes")
    }
}

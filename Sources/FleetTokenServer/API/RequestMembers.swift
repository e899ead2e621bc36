// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import Hummingbird

/// Reads the members of a JSON object, or the parameters of a query, one by one, and collects what is wrong with them, so
/// that one answer tells all, or the first of many.
struct RequestMembers {
    /// The most faults that are told one by one, so that no answer is many times as long as its request.
    static let maximumFaults = 10

    private(set) var faults: [Problem.Fault] = []
    /// How many more there are.
    private var untold = 0
    private let object: JSONObject
    private let isQuery: Bool
    private var read: Set<String> = []

    init(_ object: JSONObject) {
        self.object = object
        self.isQuery = false
    }

    /// Reads the parameters of a query, none of which may stand twice, or be encoded wrongly.
    init(queryOf request: Request) {
        var object = JSONObject()
        var repeated: [String] = []
        var unreadable: [String] = []
        for parameter in QueryParameter.all(in: request.uri.query ?? "") {
            if object[parameter.name] != nil { repeated.append(parameter.name) }
            if parameter.value == nil { unreadable.append(parameter.name) }
            object[parameter.name] = parameter.value.map(JSONValue.string)
        }
        self.object = object
        self.isQuery = true
        for name in Set(repeated).sorted() { self.refuse(name, "The parameter stands twice.") }
        for name in Set(unreadable).sorted() { self.refuse(name, "The value is not percent-encoded UTF-8.") }
    }

    /// Whether a member is there.
    func has(_ name: String) -> Bool { self.object[name] != nil }

    /// A text that must be there.
    mutating func string(_ name: String) -> String? {
        let isThere = self.object[name] != nil
        let text = self.optionalString(name)
        if !isThere { self.refuse(name, "\"\(name)\" is missing.") }
        return text
    }

    /// A text that may be missing.
    mutating func optionalString(_ name: String) -> String? {
        self.read.insert(name)
        guard let value = self.object[name] else { return nil }
        guard let text = value.string else {
            self.refuse(name, "\"\(name)\" must be a string.")
            return nil
        }
        return text
    }

    /// An id that must be there.
    mutating func id<Kind>(_ name: String) -> FleetID<Kind>? {
        guard let text = self.string(name) else { return nil }
        return self.checked(name) { () throws(TokenError) in try FleetID(checking: text) }
    }

    /// An id that may be missing.
    mutating func optionalID<Kind>(_ name: String) -> FleetID<Kind>? {
        guard let text = self.optionalString(name) else { return nil }
        return self.checked(name) { () throws(TokenError) in try FleetID(checking: text) }
    }

    /// A number in decimal digits that may be missing, in a query.
    mutating func optionalNumber(_ name: String, _ range: ClosedRange<Int>) -> Int? {
        guard let text = self.optionalString(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            self.refuse(
                name, "\"\(name)\" must be a number from \(range.lowerBound) to \(range.upperBound).")
            return nil
        }
        return number
    }

    /// A time of RFC 3339 that may be missing.
    mutating func optionalDate(_ name: String) -> Date? {
        guard let text = self.optionalString(name) else { return nil }
        guard let date = APITime.date(text) else {
            self.refuse(name, "\"\(name)\" must be a time like 2026-01-31T14:05:00Z.")
            return nil
        }
        return date
    }

    /// The value of a check, or `nil` and a note of what it found.
    mutating func checked<Value>(_ name: String, _ check: () throws(TokenError) -> Value) -> Value? {
        do throws(TokenError) {
            return try check()
        } catch {
            self.refuse(name, error.message)
            return nil
        }
    }

    /// Takes members as read that cannot be judged.
    mutating func pass(_ names: Set<String>) {
        self.read.formUnion(names)
    }

    /// Notes what is wrong with a member.
    mutating func refuse(_ name: String, _ detail: String) {
        guard self.faults.count < Self.maximumFaults else {
            self.untold += 1
            return
        }
        let place: Problem.Fault.Place =
            self.isQuery ? .parameter(Self.beginning(of: name)) : .pointer(Self.pointer(to: name))
        self.faults.append(Problem.Fault(place: place, detail: detail))
    }

    /// The value that was built from the members, where nothing was wrong.
    ///
    /// - Parameters:
    ///   - value: What was built.
    ///   - known: The members that other requests of the kind take.
    /// - Returns: The value.
    /// - Throws: ``Problem`` that names the faults, members that nobody read among them.
    mutating func finish<Value>(_ value: Value?, known: Set<String> = []) throws(Problem) -> Value {
        for key in self.object.keys.sorted() where !self.read.contains(key) {
            let name = "\"\(Self.beginning(of: key))\""
            self.refuse(
                key, known.contains(key) ? "\(name) does not belong here." : "There is no \(name).")
        }
        guard let value, self.faults.isEmpty else { throw Problem(faults: self.faults, untold: self.untold) }
        return value
    }

    /// The beginning of a name, by its scalars: a single character may have thousands of them.
    private static func beginning(of name: String) -> String { String(name.unicodeScalars.prefix(64)) }

    private static func pointer(to key: String) -> String {
        let escaped = Self.beginning(of: key).replacing("~", with: "~0").replacing("/", with: "~1")
        return "#/" + (escaped.addingPercentEncoding(withAllowedCharacters: .urlFragmentAllowed) ?? "")
    }
}

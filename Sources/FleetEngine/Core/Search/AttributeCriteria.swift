// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI

/// Which attributes a vehicle must have to be found: at most 50, in up to 50 lists of up to 50, of 500 in all.
struct AttributeCriteria: Sendable {
    /// An attribute that is looked for.
    private struct Wanted: Sendable {
        let key: String
        let value: String
    }

    private static let maximumCount = 50
    /// How many attributes all lists of one field hold at most; each vehicle is compared with them.
    private static let maximumTotal = 500

    private let all: [Wanted]
    /// One of each list.
    private let oneOf: [[Wanted]]
    /// All of one set.
    private let sets: [[Wanted]]
    private let filter: ResourceFilter?

    /// Reads the criteria of a search, which come as messages.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    init(_ request: Maps_Fleetengine_V1_SearchVehiclesRequest) throws(EngineError) {
        func wanted(_ attributes: [VehicleAttribute]) -> [Wanted] {
            attributes.map { Wanted(key: $0.key, value: $0.text ?? $0.value) }
        }
        try self.init(
            all: wanted(request.requiredAttributes),
            oneOf: request.requiredOneOfAttributes.map { wanted($0.attributes) },
            sets: request.requiredOneOfAttributeSets.map { wanted($0.attributes) },
            filter: request.filter
        )
    }

    /// Reads the criteria of a list, which come as texts: `key:value`, and `k1:v1|k2:v2` for several.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    init(_ request: Maps_Fleetengine_V1_ListVehiclesRequest) throws(EngineError) {
        func wanted(_ text: some StringProtocol, _ field: String) throws(EngineError) -> Wanted {
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw .invalidArgument("\(field) holds \"\(text.prefix(64))\"; write KEY:VALUE.", field: field)
            }
            return Wanted(key: String(parts[0]), value: String(parts[1]))
        }
        func lists(_ texts: [String], _ field: String) throws(EngineError) -> [[Wanted]] {
            var lists: [[Wanted]] = []
            for text in texts {
                var list: [Wanted] = []
                for part in text.split(separator: "|") { list.append(try wanted(part, field)) }
                lists.append(list)
            }
            return lists
        }
        var all: [Wanted] = []
        for text in request.requiredAttributes { all.append(try wanted(text, "required_attributes")) }
        try self.init(
            all: all,
            oneOf: lists(request.requiredOneOfAttributes, "required_one_of_attributes"),
            sets: lists(request.requiredOneOfAttributeSets, "required_one_of_attribute_sets"),
            filter: request.filter
        )
    }

    private init(all: [Wanted], oneOf: [[Wanted]], sets: [[Wanted]], filter: String) throws(EngineError) {
        self.all = all
        self.oneOf = oneOf
        self.sets = sets
        self.filter = filter.isEmpty ? nil : try ResourceFilter(filter)
        try Self.check(all.count, "required_attributes")
        try Self.check(oneOf, "required_one_of_attributes")
        try Self.check(sets, "required_one_of_attribute_sets")
        guard self.filter == nil || self.all.isEmpty && self.oneOf.isEmpty && self.sets.isEmpty else {
            throw .invalidArgument(
                "filter excludes required_attributes, required_one_of_attributes and required_one_of_attribute_sets.",
                field: "filter"
            )
        }
    }

    private static func check(_ lists: [[Wanted]], _ field: String) throws(EngineError) {
        try self.check(lists.count, field)
        for list in lists { try self.check(list.count, field) }
        let total = lists.reduce(0) { $0 + $1.count }
        guard total <= self.maximumTotal else {
            throw .invalidArgument(
                "\(field) holds \(total) attributes in all; at most \(self.maximumTotal) are looked for.", field: field)
        }
    }

    private static func check(_ count: Int, _ field: String) throws(EngineError) {
        guard count <= self.maximumCount else {
            throw .invalidArgument(
                "\(field) holds \(count); at most \(self.maximumCount) are looked for.", field: field)
        }
    }

    /// Whether nothing is asked.
    var isEmpty: Bool { self.filter == nil && self.all.isEmpty && self.oneOf.isEmpty && self.sets.isEmpty }

    /// Whether a vehicle's attributes meet all criteria.
    func match(_ attributes: [VehicleAttribute]) -> Bool {
        guard !self.isEmpty else { return true }
        let values = AttributeRules.values(attributes)
        func has(_ wanted: Wanted) -> Bool { values[wanted.key] == wanted.value }
        return self.all.allSatisfy(has)
            && self.oneOf.allSatisfy { $0.contains(where: has) }
            && (self.sets.isEmpty || self.sets.contains { $0.allSatisfy(has) })
            && self.filter?.matches(attributes: values) ?? true
    }
}

extension ResourceFilter {
    /// Whether attributes, by key, pass a filter that names nothing else.
    func matches(attributes: [String: String]) -> Bool {
        self.matches { name in Self.attribute(name, in: attributes) }
    }

    /// The value of an attribute that a filter names `attributes.KEY`.
    static func attribute(_ name: String, in attributes: [String: String]) -> Value? {
        attributes[String(name.dropFirst("attributes.".count))].map(Value.text)
    }
}

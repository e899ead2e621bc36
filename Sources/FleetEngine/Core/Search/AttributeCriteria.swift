// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI

/// Which attributes a vehicle must have to be found: at most 50, in up to 50 lists of up to 50, of 500 in all.
struct AttributeCriteria: Sendable {
    /// An attribute that is looked for.
    private typealias Wanted = (key: String, value: String)

    private static let maximumCount = 50
    /// How many attributes all lists of one field hold at most; each vehicle is compared with them.
    private static let maximumTotal = 500

    /// What all criteria come to; `nil` where nothing is asked.
    private let filter: ResourceFilter?

    /// Reads the criteria of a search, which come as messages.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    init(_ request: Maps_Fleetengine_V1_SearchVehiclesRequest) throws(EngineError) {
        func wanted(_ attributes: [VehicleAttribute]) -> [Wanted] {
            attributes.map { (key: $0.key, value: $0.text ?? $0.value) }
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
        // By bytes: a sign may be one character together with the accent behind it.
        func wanted(_ text: Substring, _ field: String) throws(EngineError) -> Wanted {
            let parts = text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
                .map { String(Substring($0)) }
            guard parts.count == 2, !parts[0].isEmpty else {
                throw .invalidArgument("\(field) holds \"\(text.prefix(64))\"; write KEY:VALUE.", field: field)
            }
            return (key: parts[0], value: parts[1])
        }
        func lists(_ texts: [String], _ field: String) throws(EngineError) -> [[Wanted]] {
            var lists: [[Wanted]] = []
            for text in texts {
                var list: [Wanted] = []
                for part in text.utf8.split(separator: UInt8(ascii: "|"), omittingEmptySubsequences: false) {
                    list.append(try wanted(Substring(part), field))
                }
                lists.append(list)
            }
            return lists
        }
        var all: [Wanted] = []
        for text in request.requiredAttributes { all.append(try wanted(text[...], "required_attributes")) }
        try self.init(
            all: all,
            oneOf: lists(request.requiredOneOfAttributes, "required_one_of_attributes"),
            sets: lists(request.requiredOneOfAttributeSets, "required_one_of_attribute_sets"),
            filter: request.filter
        )
    }

    /// Checks the criteria.
    ///
    /// - Parameters:
    ///   - all: What a vehicle must have.
    ///   - oneOf: Lists of which it must have one attribute each.
    ///   - sets: Lists of which it must have one whole.
    ///   - filter: The filter in their place.
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    private init(all: [Wanted], oneOf: [[Wanted]], sets: [[Wanted]], filter: String) throws(EngineError) {
        let read = filter.isEmpty ? nil : try ResourceFilter(filter)
        try Self.check(all, "required_attributes")
        try Self.check(oneOf, "required_one_of_attributes")
        try Self.check(sets, "required_one_of_attribute_sets")
        let hasLists = !all.isEmpty || !oneOf.isEmpty || !sets.isEmpty
        guard read == nil || !hasLists else {
            throw .invalidArgument(
                "filter excludes required_attributes, required_one_of_attributes and required_one_of_attribute_sets.",
                field: "filter"
            )
        }
        self.filter = hasLists ? Self.filter(all: all, oneOf: oneOf, sets: sets) : read
    }

    /// The filter that says the same as lists of attributes.
    private static func filter(all: [Wanted], oneOf: [[Wanted]], sets: [[Wanted]]) -> ResourceFilter {
        var places = ResourceFilter.Places()
        func terms(_ list: [Wanted]) -> [ResourceFilter.Term] {
            list.map { wanted in
                let restriction = ResourceFilter.Restriction(
                    place: places.place(of: .attribute(wanted.key)), comparison: .equal,
                    operand: .text(TextPattern(exactly: wanted.value)))
                return ResourceFilter.Term.restriction(restriction)
            }
        }
        var criteria = terms(all)
        for list in oneOf { criteria.append(.any(terms(list))) }
        if !sets.isEmpty { criteria.append(.any(sets.map { ResourceFilter.Term.all(terms($0)) })) }
        return ResourceFilter(term: .all(criteria), places: places)
    }

    private static func check(_ lists: [[Wanted]], _ field: String) throws(EngineError) {
        try self.check(lists.count, field)
        for list in lists {
            guard !list.isEmpty else {
                throw .invalidArgument("\(field) holds an empty list; name attributes in it.", field: field)
            }
            try self.check(list, field)
        }
        let total = lists.reduce(0) { $0 + $1.count }
        guard total <= self.maximumTotal else {
            throw .invalidArgument(
                "\(field) holds \(total) attributes in all; at most \(self.maximumTotal) are looked for.", field: field)
        }
    }

    private static func check(_ list: [Wanted], _ field: String) throws(EngineError) {
        try self.check(list.count, field)
        for (key, value) in list where AttributeRules.isTooLong("\(key):\(value)") {
            throw .invalidArgument(
                "\(field) holds \"\(key.prefix(64))\" with too long a text; KEY:VALUE has at most "
                    + "\(AttributeRules.maximumLength) characters.",
                field: field
            )
        }
    }

    private static func check(_ count: Int, _ field: String) throws(EngineError) {
        guard count <= self.maximumCount else {
            throw .invalidArgument(
                "\(field) holds \(count); at most \(self.maximumCount) are looked for.", field: field)
        }
    }

    /// Whether nothing is asked.
    var isEmpty: Bool { self.filter == nil }

    /// Whether a vehicle's attributes meet all criteria.
    func match(_ attributes: [VehicleAttribute]) -> Bool { self.filter?.matches(attributes: attributes) ?? true }
}

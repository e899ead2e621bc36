// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI

/// Which attributes a vehicle must have to be found.
struct AttributeCriteria: Sendable {
    private static let maximumCount = 50

    private let all: [VehicleAttribute]
    /// One of each list.
    private let oneOf: [[VehicleAttribute]]
    /// All of one set.
    private let sets: [[VehicleAttribute]]
    private let filter: AttributeFilter?

    /// Reads the criteria of a search.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    init(_ request: Maps_Fleetengine_V1_SearchVehiclesRequest) throws(EngineError) {
        self.all = request.requiredAttributes
        self.oneOf = request.requiredOneOfAttributes.map(\.attributes)
        self.sets = request.requiredOneOfAttributeSets.map(\.attributes)
        self.filter = request.filter.isEmpty ? nil : try AttributeFilter(request.filter)
        guard self.all.count <= Self.maximumCount else {
            throw .invalidArgument(
                "required_attributes holds \(self.all.count); at most \(Self.maximumCount) are looked for.",
                field: "required_attributes"
            )
        }
        guard self.filter == nil || self.all.isEmpty && self.oneOf.isEmpty && self.sets.isEmpty else {
            throw .invalidArgument(
                "filter excludes required_attributes, required_one_of_attributes and required_one_of_attribute_sets.",
                field: "filter"
            )
        }
    }

    /// Whether a vehicle's attributes meet all criteria.
    func match(_ attributes: [VehicleAttribute]) -> Bool {
        guard self.filter != nil || !self.all.isEmpty || !self.oneOf.isEmpty || !self.sets.isEmpty else { return true }
        let values = Dictionary(attributes.map { ($0.key, $0.text ?? $0.value) }) { first, _ in first }
        func has(_ wanted: VehicleAttribute) -> Bool { values[wanted.key] == wanted.text ?? wanted.value }
        return self.all.allSatisfy(has)
            && self.oneOf.allSatisfy { $0.contains(where: has) }
            && (self.sets.isEmpty || self.sets.contains { $0.allSatisfy(has) })
            && self.filter?.matches(values) ?? true
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// What differs between two states: entries to put, and ids to drop.
struct PageChanges: Encodable, Sendable {
    struct Difference<Entry: Encodable & Hashable & Sendable>: Encodable, Sendable {
        var put: [String: Entry] = [:]
        var drop: [String] = []

        init?(from old: [String: Entry], to new: [String: Entry]) {
            self.put = new.filter { id, entry in old[id] != entry }
            self.drop = old.keys.filter { new[$0] == nil }.sorted()
            if self.put.isEmpty, self.drop.isEmpty { return nil }
        }
    }

    let vehicles: Difference<PageVehicle>?
    let trips: Difference<PageTrip>?
    let deliveryVehicles: Difference<PageDeliveryVehicle>?
    let tasks: Difference<PageTask>?
    let tokens: Difference<PageToken>?
    let refusals: Difference<PageRefusal>?
    let rules: Difference<PageRule>?
    let deviations: Difference<PageDeviation>?
    let chaos: [FaultStatus.Step]?
    let truncated: [String]?

    init?(from old: PageState, to new: PageState) {
        guard old != new else { return nil }
        self.vehicles = .init(from: old.vehicles, to: new.vehicles)
        self.trips = .init(from: old.trips, to: new.trips)
        self.deliveryVehicles = .init(from: old.deliveryVehicles, to: new.deliveryVehicles)
        self.tasks = .init(from: old.tasks, to: new.tasks)
        self.tokens = .init(from: old.tokens, to: new.tokens)
        self.refusals = .init(from: old.refusals, to: new.refusals)
        self.rules = .init(from: old.rules, to: new.rules)
        self.deviations = .init(from: old.deviations, to: new.deviations)
        self.chaos = old.chaos == new.chaos ? nil : new.chaos
        self.truncated = old.truncated == new.truncated ? nil : new.truncated
    }
}

/// The last places of everything that moves, oldest first; bounded in points and kept for what is shown only.
struct PageTrails: Encodable, Hashable, Sendable {
    private static let points = 150
    private(set) var vehicles: [String: [PagePlace]] = [:]
    private(set) var deliveryVehicles: [String: [PagePlace]] = [:]

    /// Adds the places of a state.
    mutating func add(_ state: PageState) {
        Self.add(state.vehicles.mapValues(\.place), to: &self.vehicles)
        Self.add(state.deliveryVehicles.mapValues(\.place), to: &self.deliveryVehicles)
    }

    /// The trails in parts, of one kind and of so many at most each.
    func parts(of limit: Int) -> [PageTrails] {
        self.vehicles.parts(of: limit).map { PageTrails(vehicles: $0) }
            + self.deliveryVehicles.parts(of: limit).map { PageTrails(deliveryVehicles: $0) }
    }

    private static func add(_ places: [String: PagePlace?], to trails: inout [String: [PagePlace]]) {
        trails = trails.filter { places[$0.key] != nil }
        for case (let id, let place?) in places where trails[id]?.last != place {
            trails[id, default: []].append(place)
            if trails[id]?.count ?? 0 > self.points { trails[id]?.removeFirst() }
        }
    }
}

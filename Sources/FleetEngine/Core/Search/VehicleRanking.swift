// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI

/// The best candidates of a search so far.
///
/// Vehicles are ranked by straight lines, of which all is known. Where ways follow roads, more than are wanted stay in the
/// running, and the roads of these alone are asked for.
struct VehicleRanking {
    private let search: VehicleSearch
    /// The best first; never more than the search's shortlist holds.
    private var ranked: [VehicleSearch.Candidate] = []

    /// Starts without a candidate.
    init(_ search: VehicleSearch) {
        self.search = search
    }

    /// The matches, the best first.
    var matches: [VehicleSearch.Match] {
        let roads = self.ranked.map(self.search.alongRoads)
        // All are measured alike: a detour that is known would be a handicap beside a straight line.
        let isKnown = !roads.contains { $0 == nil }
        let best = isKnown ? roads.compactMap(\.self).sorted(by: Self.isBetter) : self.ranked
        return best.prefix(self.search.count).map(self.search.match)
    }

    /// Whether a vehicle that is at least so far from the pickup could still be among the best.
    func wants(vehiclesFrom meters: Double) -> Bool {
        guard let last = self.ranked.last, self.ranked.count >= self.search.shortlist else { return true }
        return self.search.bestScore(fromMeters: meters) <= last.score
    }

    /// Takes a vehicle in, if it fits and is among the best.
    ///
    /// - Parameters:
    ///   - vehicle: A vehicle.
    ///   - trips: Looks up its trips, by id.
    /// - Throws: What `trips` throws.
    mutating func add(_ vehicle: Vehicle, trips: () throws -> [String: Trip]) throws {
        guard let found = try self.search.candidate(vehicle, trips: trips) else { return }
        // The nearest come first, so most belong near the end.
        let place = self.ranked.lastIndex { !Self.isBetter(found, than: $0) }.map { $0 + 1 } ?? 0
        guard place < self.search.shortlist else { return }
        self.ranked.insert(found, at: place)
        if self.ranked.count > self.search.shortlist { self.ranked.removeLast() }
    }

    /// Equal scores go in the order of names, so that an answer can be repeated.
    private static func isBetter(_ one: VehicleSearch.Candidate, than other: VehicleSearch.Candidate) -> Bool {
        guard one.score == other.score else { return one.score < other.score }
        return one.vehicle.name < other.vehicle.name
    }
}

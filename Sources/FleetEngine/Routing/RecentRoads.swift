// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// What was learned of legs, as far as it was used lately, in bounded space.
///
/// It has two halves, as `RecentEntries` has: what is used moves to the young one, and when that is full the old one is
/// dropped. A half is full of legs, or of the points of their ways.
struct RecentRoads<Leg: Hashable & Sendable>: Sendable {
    /// How many points the way of a leg may have on average; one through a town has about as many.
    static var pointsPerLeg: Int { 200 }

    private let legsOfHalf: Int
    private var young: [Leg: KnownRoad] = [:]
    private var old: [Leg: KnownRoad] = [:]
    private var pointsOfYoung = 0

    /// Makes an empty one for so many legs, at least 2.
    init(capacity: Int) {
        self.legsOfHalf = capacity / 2
    }

    /// What is known of a leg, which is thereby used.
    subscript(leg: Leg) -> KnownRoad? {
        mutating get {
            if let road = self.young[leg] { return road }
            guard let road = self.old.removeValue(forKey: leg) else { return nil }
            self.keep(road, for: leg)
            return road
        }
        set {
            self.old[leg] = nil
            if let former = self.young.removeValue(forKey: leg) { self.pointsOfYoung -= former.points }
            if let newValue { self.keep(newValue, for: leg) }
        }
    }

    /// Keeps a leg that the young half does not have.
    private mutating func keep(_ road: KnownRoad, for leg: Leg) {
        let isFull =
            self.young.count >= self.legsOfHalf
            || self.pointsOfYoung + road.points > self.legsOfHalf * Self.pointsPerLeg
        if isFull, !self.young.isEmpty {
            self.old = self.young
            self.young = [:]
            self.pointsOfYoung = 0
        }
        self.young[leg] = road
        self.pointsOfYoung += road.points
    }
}

extension KnownRoad {
    /// How many points are kept of it.
    fileprivate var points: Int {
        switch self {
        case .way(let way): way.path.count
        case .noRoad: 0
        }
    }
}

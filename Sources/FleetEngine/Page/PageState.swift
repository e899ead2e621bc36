// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Foundation

/// What the page shows, by kind and id; nothing in it is or holds a token.
struct PageState: Encodable, Hashable, Sendable {
    /// The most resources of one kind that are shown.
    static let limit = 500

    var vehicles: [String: PageVehicle] = [:]
    var trips: [String: PageTrip] = [:]
    var deliveryVehicles: [String: PageDeliveryVehicle] = [:]
    var tasks: [String: PageTask] = [:]
    var tokens: [String: PageToken] = [:]
    var refusals: [String: PageRefusal] = [:]
    var rules: [String: PageRule] = [:]
    var deviations: [String: PageDeviation] = [:]
    /// The steps of the script that lets things go wrong, where one is set.
    var chaos: [FaultStatus.Step] = []
    /// The kinds of which there are more than are shown.
    var truncated: [String] = []

    /// Reads what the engine holds of a provider and its callers: first what is at work, then the rest, each up to the
    /// limit.
    init(of engine: Engine, provider: ProviderID) async throws {
        self = try await engine.store.read { store in
            var state = PageState()
            state.vehicles = try state.read(store, provider) { PageVehicle($1, id: $0) }
            state.trips = try state.read(store, provider) { PageTrip($1, id: $0) }
            state.deliveryVehicles = try state.read(store, provider) { PageDeliveryVehicle($1, id: $0) }
            state.tasks = try state.read(store, provider) { PageTask($1, id: $0) }
            return state
        }
        self.chaos = engine.faults?.status.steps ?? []
        let activity = engine.activity.snapshot()
        let tokens = PageToken.latest(Self.limit, in: activity, of: provider)
        self.tokens = tokens.shown
        if tokens.areMore { self.truncated.append(PageToken.collection) }
        for refusal in activity.refusals where refusal.provider == provider {
            let shown = PageRefusal(refusal)
            self.refusals[shown.id] = shown
        }
        let noted = engine.watch.noted
        self.rules = PageRule.all(in: noted, of: provider)
        let deviations = PageDeviation.latest(Self.limit, in: noted, of: provider)
        self.deviations = deviations.shown
        if deviations.areMore { self.truncated.append(PageDeviation.collection) }
    }

    init() {}

    /// The entries in parts, of one kind and of so many at most each.
    func parts(of limit: Int) -> [PageState] {
        self.parts(of: limit, \.vehicles) + self.parts(of: limit, \.trips) + self.parts(of: limit, \.deliveryVehicles)
            + self.parts(of: limit, \.tasks) + self.parts(of: limit, \.tokens) + self.parts(of: limit, \.refusals)
            + self.parts(of: limit, \.rules) + self.parts(of: limit, \.deviations)
    }

    private func parts<Entry>(
        of limit: Int, _ kind: WritableKeyPath<PageState, [String: Entry]>
    ) -> [PageState] {
        self[keyPath: kind].parts(of: limit).map { entries in
            var part = PageState()
            part[keyPath: kind] = entries
            return part
        }
    }

    /// What the parts leave out.
    var withoutEntries: PageState {
        var rest = PageState()
        rest.chaos = self.chaos
        rest.truncated = self.truncated
        return rest
    }

    private mutating func read<Resource: StoredResource, Shown>(
        _ store: any EngineReader, _ provider: ProviderID, _ show: (String, Resource) -> Shown
    ) throws -> [String: Shown] {
        var found: [String: Shown] = [:]
        for isActiveOnly in [true, false] {
            try store.scan(StoreScan(isActiveOnly: isActiveOnly), of: provider) { (id, resource: Resource) in
                guard found.count < Self.limit || found[id] != nil else {
                    self.truncated.append(Resource.collection.rawValue)
                    return false
                }
                if found[id] == nil { found[id] = show(id, resource) }
                return true
            }
            if self.truncated.contains(Resource.collection.rawValue) { break }
        }
        return found
    }
}

/// Where something is.
struct PagePlace: Encodable, Hashable, Sendable {
    let latitude: Double
    let longitude: Double

    init(_ point: LatLng) {
        self.latitude = point.latitude
        self.longitude = point.longitude
    }
}

extension Dictionary {
    /// The entries in dictionaries of so many at most each.
    func parts(of limit: Int) -> [Self] {
        let entries = Array(self)
        return stride(from: 0, to: entries.count, by: limit).map { start in
            let part = entries[start..<Swift.min(start + limit, entries.count)]
            return Dictionary(uniqueKeysWithValues: part.map { ($0.key, $0.value) })
        }
    }
}

extension Date {
    /// Unix milliseconds, as scripts count.
    var milliseconds: Int64 { Int64(self.timeIntervalSince1970 * 1000) }
}

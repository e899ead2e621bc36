// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetConsumer
import FleetTokenClient
import FleetTokens
import Foundation

/// One change of a trip or a shipment as `watch` prints it.
struct ChangeLine: Encodable {
    private(set) var change: String
    private(set) var value: String?
    private(set) var latitude: Double?
    private(set) var longitude: Double?
    private(set) var meters: Int?
    /// How many stops are left.
    private(set) var stops: Int?
    /// How many intermediate destinations are left.
    private(set) var destinations: Int?
    /// How many points the way has.
    private(set) var points: Int?
    /// On how many parts of the way it is known how the traffic flows.
    private(set) var stretches: Int?
    /// The canonical code of a failure.
    private(set) var code: String?
    /// The engine's own word for its refusal, where it gave one.
    private(set) var reason: String?
    /// Why an answer is missing.
    private(set) var failure: EngineFailure?

    private enum CodingKeys: CodingKey {
        case change, value, latitude, longitude, meters, stops, destinations, points, stretches, code, reason
    }

    private init(
        _ change: String, value: String? = nil, point: GeoPoint? = nil, meters: Int? = nil, stops: Int? = nil,
        destinations: Int? = nil, points: Int? = nil, stretches: Int? = nil
    ) {
        self.change = change
        self.value = value
        self.latitude = point?.latitude
        self.longitude = point?.longitude
        self.meters = meters
        self.stops = stops
        self.destinations = destinations
        self.points = points
        self.stretches = stretches
    }

    private init(_ failure: EngineFailure) {
        self.init("failure", value: failure.told)
        self.code = failure.code.rawValue
        self.reason = failure.reason
        self.failure = failure
    }

    init(_ change: TripChange) {
        switch change {
        case .vehicle(let vehicle): self.init("vehicle", value: vehicle?.value)
        case .status(let status): self.init("status", value: status.rawValue)
        case .vehiclePosition(let position): self.init("position", point: position?.point)
        case .etaToNextWaypoint(let eta): self.init("eta", value: eta.map(RFC3339.text))
        case .pickup(let point, let time): self.init("pickup", value: time.map(RFC3339.text), point: point)
        case .dropoff(let point, let time): self.init("dropoff", value: time.map(RFC3339.text), point: point)
        case .intermediateDestinations(let places, let next):
            self.init("destinations", destinations: max(0, places.count - next))
        case .remainingDistance(let meters): self.init("distance", meters: meters)
        case .remainingWaypoints(let stops): self.init("stops", stops: stops.count)
        case .route(let points, _): self.init("route", points: points.count)
        case .traffic(let traffic): self.init("traffic", stretches: traffic?.stretches.count)
        case .ended(let status): self.init("ended", value: status.rawValue)
        case .failure(let failure): self.init(failure)
        }
    }

    init(_ change: ShipmentChange) {
        switch change {
        case .state(let state): self.init("state", value: state.rawValue)
        case .vehiclePosition(let position): self.init("position", point: position?.point)
        case .remainingStops(let count): self.init("stops", stops: count)
        case .remainingDistance(let meters): self.init("distance", meters: meters)
        case .estimatedArrival(let time): self.init("eta", value: time.map(RFC3339.text))
        case .estimatedCompletion(let time): self.init("completion", value: time.map(RFC3339.text))
        case .route(let points): self.init("route", points: points.count)
        case .timeWindow(let window):
            self.init("window", value: window.map { "\(RFC3339.text($0.start))/\(RFC3339.text($0.end))" })
        case .ended(let outcome): self.init("ended", value: outcome.rawValue)
        case .failure(let failure): self.init(failure)
        }
    }

    var text: String {
        let place = self.latitude.flatMap { latitude in
            self.longitude.map { String(format: "%.6f,%.6f", latitude, $0) }
        }
        let count = self.stops ?? self.destinations ?? self.points ?? self.stretches
        let words = [self.value, place, count.map(String.init), self.meters.map { "\($0) m" }].compactMap(\.self)
        return self.change.padding(toLength: 13, withPad: " ", startingAt: 0)
            + (words.isEmpty ? "none" : words.joined(separator: " ").shown())
    }
}

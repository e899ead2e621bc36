// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetConsumer
import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

/// A trip model with everything round it in a test's hands.
struct TripWorld: Sendable {
    /// A time limit that no test reaches by accident.
    static let noLimit = Duration.seconds(1_000_000)

    let recorder: SleepRecorder
    var clock: ManualClock { self.recorder.clock }
    let trip: TripID
    let tokens: StubTokenProvider
    let engine: StubTransport
    let model: TripModel

    init(
        provider: String = "acme",
        trip: String = "trip-7",
        url: String = "https://engine.example",
        tokens: StubTokenProvider = StubTokenProvider(),
        engine: StubTransport,
        configuration: TripModelConfiguration = .init(timeLimit: Self.noLimit),
        recorder: SleepRecorder = SleepRecorder(),
        random: @escaping @Sendable () -> Double = { 0 }
    ) throws {
        self.recorder = recorder
        self.trip = try TripID(checking: trip)
        self.tokens = tokens
        self.engine = engine
        self.model = try TripModel(
            provider: ProviderID(checking: provider),
            trip: self.trip,
            engine: #require(URL(string: url)),
            tokens: tokens,
            transport: engine,
            clock: recorder,
            configuration: configuration,
            random: random
        )
    }

    /// Runs the model to its end without any pause, and gives all changes.
    func changesToTheEnd() async throws -> [TripChange] {
        let model = self.model
        return try await self.recorder.elements(of: await model.changes()) { try await model.run() }
    }
}

extension SleepRecorder {
    /// Runs a model to its end, and moves the clock over each of its pauses, but over no time limit.
    ///
    /// - Parameters:
    ///   - changes: What the model publishes.
    ///   - run: Runs it.
    /// - Returns: All changes.
    /// - Throws: What the model throws, or `CancellationError` after a thousand pauses.
    func elements<Change: Sendable>(
        of changes: AsyncStream<Change>, running run: @escaping @Sendable () async throws -> Void
    ) async throws -> [Change] {
        let run = Task { try await run() }
        let pace = Task {
            for _ in 0..<1_000 { if await self.passNextSleep(except: TripWorld.noLimit) == nil { return } }
            run.cancel()
        }
        var all: [Change] = []
        for await change in changes { all.append(change) }
        try await run.value
        pace.cancel()
        await pace.value
        return all
    }
}

extension StubTransport {
    /// Answers with these trips, one after the other, the last one completed when it is asked for more.
    convenience init(trips: String...) {
        self.init(
            trips.map { .json($0) } + [.complete]
        )
    }
}

extension StubTransport.Answer {
    /// The engine answers with a trip or a shipment, which gets a name where the text gives none.
    static func json(_ text: String) -> Self {
        .page(text.contains(#""name""#) ? text : #"{"name":"providers/acme/things/1","# + text.dropFirst())
    }

    /// Something answers with success, perhaps not the engine.
    static func page(_ text: String) -> Self {
        .response(HTTPTransportResponse(status: 200, body: Data(text.utf8)))
    }

    /// The engine refuses, perhaps with an error body in Google's form.
    static func status(_ status: Int, _ error: String? = nil) -> Self {
        let body = error.map { "{\"error\":\($0)}" } ?? "{}"
        return .response(HTTPTransportResponse(status: status, body: Data(body.utf8)))
    }

    /// The trip has not begun.
    static var new: Self { .json(#"{"tripStatus":"NEW"}"#) }

    /// The trip is over.
    static var complete: Self { .json(#"{"tripStatus":"COMPLETE"}"#) }
}

extension TripChange {
    /// A short text, to compare lists of changes by.
    var summary: String {
        switch self {
        case .vehicle(let id): "vehicle \(id?.value ?? "-")"
        case .status(let status): "status \(status.rawValue)"
        case .vehiclePosition(let position): "position \(position.map { "\($0.point.latitude)" } ?? "-")"
        case .etaToNextWaypoint(let eta): "eta \(eta.map { "\(Int($0.timeIntervalSince1970))" } ?? "-")"
        case .pickup(let point, let time): "pickup \(Self.text(point, time))"
        case .dropoff(let point, let time): "dropoff \(Self.text(point, time))"
        case .intermediateDestinations(let places, let next):
            "between \(places.map { "\($0.latitude)" }.joined(separator: ",")) \(next)"
        case .remainingDistance(let meters): "distance \(meters.map(String.init) ?? "-")"
        case .traffic(let traffic):
            "traffic \(traffic.map { $0.stretches.map(\.speed).joined(separator: ",") } ?? "-")"
        case .remainingWaypoints(let stops): "stops \(stops.map { "\($0.point.latitude)" }.joined(separator: ","))"
        case .route(let points, let encoded): "route \(points.count) \(encoded ?? "-")"
        case .ended(let status): "ended \(status.rawValue)"
        case .failure(let failure): "failure \(failure.code.rawValue) \(failure.reason ?? "-")"
        }
    }

    private static func text(_ point: GeoPoint?, _ time: Date?) -> String {
        "\(point.map { "\($0.latitude)" } ?? "-") \(time.map { "\(Int($0.timeIntervalSince1970))" } ?? "-")"
    }
}

extension HTTPTransportRequest {
    /// The query by name.
    var query: [String: String] {
        let items = URLComponents(url: self.url, resolvingAgainstBaseURL: true)?.queryItems ?? []
        return Dictionary(items.map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { first, _ in first })
    }
}

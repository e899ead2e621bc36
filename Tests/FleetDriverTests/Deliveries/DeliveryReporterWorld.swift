// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

/// An engine with one delivery vehicle, which keeps its stops and can be down.
final class StubDeliveryEngine: Sendable {
    struct State: Sendable {
        var stops: [String] = []
        /// Answers in place of the engine's own, for the requests to come.
        var script: [StubTransport.Answer?] = []
        /// What came in, answered or not.
        var outcomes: [String: String] = [:]
        var latitudes: [Double] = []
        /// How often the network loses a request or an answer.
        var lossRate = 0.0
        var random = SeededGenerator(seed: 0)
        /// What the next report of locations waits for.
        var gate: AsyncStream<Never>?

        /// Takes a request in, as the engine does.
        mutating func take(_ request: HTTPTransportRequest) {
            if request.url.path.contains("/tasks/") {
                self.outcomes[request.url.lastPathComponent] = (try? request.json)?["taskOutcome"] as? String
            } else if request.mask == "remaining_vehicle_journey_segments" {
                self.stops = (try? request.stops) ?? ["not readable"]
            } else if request.method == "PATCH" {
                self.latitudes += (try? request.latitudes) ?? []
            }
        }
    }

    let state: Locked<State>
    let transport: StubTransport

    init(stops: [String] = []) {
        let state = Locked(State(stops: stops))
        self.state = state
        self.transport = StubTransport { request, _ in
            if request.mask?.contains("last_location") == true, let gate = state.withLock({ $0.gate.take() }) {
                for await _ in gate {}
            }
            let scripted = state.withLock { $0.script.isEmpty ? nil : $0.script.removeFirst() }
            if let scripted { return scripted }
            let isLost = state.withLock { state in
                let isLost = state.random.chance(state.lossRate)
                // Half of what is lost is the answer, after the engine took the request.
                if !isLost || state.random.chance(0.5) { state.take(request) }
                return isLost
            }
            if isLost { return .offline }
            let text = state.withLock {
                #"{"name":"of the resource","remainingVehicleJourneySegments":"#
                    + "[\($0.stops.map(Self.segment).joined(separator: ","))]}"
            }
            return .response(HTTPTransportResponse(status: 200, body: Data(text.utf8)))
        }
    }

    /// The next requests get these answers; `nil` is the engine's own.
    func answer(_ script: StubTransport.Answer?...) { self.state.withLock { $0.script += script } }

    /// Holds the next report of locations until what is returned is finished.
    func holdLocations() -> AsyncStream<Never>.Continuation {
        let (gate, release) = AsyncStream.makeStream(of: Never.self)
        self.state.withLock { $0.gate = gate }
        return release
    }

    var stops: [String] {
        get { self.state.withLock(\.stops) }
        set { self.state.withLock { $0.stops = newValue } }
    }

    /// A stop from its short form: latitude, tasks and state, such as `1 a+b NEW`.
    private static func segment(_ text: String) -> String {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        let tasks = parts[1].split(separator: "+").map { #"{"taskId":"\#($0)","taskDuration":"60s"}"# }
        return #"{"stop":{"plannedLocation":{"point":{"latitude":\#(parts[0]),"longitude":7}},"state":"\#(parts[2])","#
            + #""tasks":[\#(tasks.joined(separator: ","))]},"drivingDistanceMeters":5}"#
    }
}

/// A reporter of a delivery vehicle with everything round it in a test's hands.
struct DeliveryReporterWorld: Sendable {
    let clock: ManualClock
    let vehicle: DeliveryVehicleID
    let tokens: StubTokenProvider
    let engine: StubDeliveryEngine
    let reporter: DeliveryVehicleReporter
    private let updates: AsyncStream<DeliveryVehicleUpdateEvent>

    init(
        stops: [String] = ["1 a NEW", "2 b+c NEW"],
        tokens: StubTokenProvider = StubTokenProvider(),
        configuration: VehicleReporterConfiguration = .init(),
        recorder: SleepRecorder = SleepRecorder()
    ) throws {
        self.clock = recorder.clock
        self.vehicle = try DeliveryVehicleID(checking: "van-1")
        self.tokens = tokens
        self.engine = StubDeliveryEngine(stops: stops)
        self.reporter = try DeliveryVehicleReporter(
            provider: ProviderID(checking: "acme"),
            vehicle: self.vehicle,
            engine: #require(URL(string: "https://engine.example")),
            tokens: tokens,
            transport: self.engine.transport,
            clock: recorder,
            configuration: configuration
        )
        self.updates = self.reporter.updates()
    }

    var requests: [HTTPTransportRequest] { self.engine.transport.requests }

    /// The event of the next report.
    func event() async throws -> DeliveryVehicleUpdateEvent {
        let event = await self.updates.first { _ in true }
        return try #require(event)
    }

    /// Starts tracking, records fixes and reports them.
    func report(_ seconds: Int...) async throws -> DeliveryVehicleUpdateEvent {
        await self.reporter.startTracking()
        for second in seconds { await self.reporter.record(try .at(second)) }
        await self.reporter.reportNow()
        return try await self.event()
    }

    /// The token that is right for a task, or for the vehicle alone.
    func token(task: String? = nil) throws -> FleetToken {
        TestTokens.token(for: .deliveryDriver(self.vehicle, task: try task.map { try TaskID(checking: $0) }))
    }
}

extension DeliveryReporterWorld {
    /// Begins to report a location, which stays on its way until what is returned is finished.
    func beginHeldReport() async throws -> (report: Task<Void, Never>, release: AsyncStream<Never>.Continuation) {
        let release = self.engine.holdLocations()
        let count = self.requests.count
        await self.reporter.startTracking()
        await self.reporter.record(try .at(1))
        let report = Task { [reporter] in await reporter.reportNow() }
        await self.engine.transport.waitForRequests(count + 1)
        return (report, release)
    }
}

extension HTTPTransportRequest {
    /// The stops that are sent, each in the short form.
    var stops: [String] {
        get throws {
            try #require(self.json["remainingVehicleJourneySegments"] as? [[String: Any]]).map { segment in
                let stop = try #require(segment["stop"] as? [String: Any])
                let place = try #require((stop["plannedLocation"] as? [String: Any])?["point"] as? [String: Double])
                let tasks = try #require(stop["tasks"] as? [[String: String]]).compactMap { $0["taskId"] }
                return "\(Int(place["latitude"] ?? 0)) \(tasks.joined(separator: "+")) \(stop["state"] ?? "")"
            }
        }
    }
}

extension [VehicleStop] {
    /// The stops in the short form.
    var short: [String] {
        self.map { "\(Int($0.latitude)) \($0.tasks.map(\.value).joined(separator: "+")) \($0.state.rawValue)" }
    }
}

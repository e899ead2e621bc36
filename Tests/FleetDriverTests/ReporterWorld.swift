// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

/// A reporter with everything round it in a test's hands.
struct ReporterWorld: Sendable {
    let clock: ManualClock
    let vehicle: VehicleID
    let tokens: StubTokenProvider
    let engine: StubTransport
    let reporter: VehicleReporter
    private let updates: AsyncStream<VehicleUpdateEvent>

    init(
        provider: String = "acme",
        vehicle: String = "veh-3",
        url: String = "https://engine.example",
        tokens: StubTokenProvider = StubTokenProvider(),
        engine: StubTransport = StubTransport([.ok]),
        configuration: VehicleReporterConfiguration = .init(),
        recorder: SleepRecorder = SleepRecorder()
    ) throws {
        self.clock = recorder.clock
        self.vehicle = try VehicleID(checking: vehicle)
        self.tokens = tokens
        self.engine = engine
        self.reporter = try VehicleReporter(
            provider: ProviderID(checking: provider),
            vehicle: self.vehicle,
            engine: #require(URL(string: url)),
            tokens: tokens,
            transport: engine,
            clock: recorder,
            configuration: configuration
        )
        self.updates = self.reporter.updates()
    }

    /// The event of the next report.
    func event() async throws -> VehicleUpdateEvent {
        let event = await self.updates.first { _ in true }
        return try #require(event)
    }

    /// Time enough for another exchange, if it did not wait.
    func bide() async {
        for _ in 0..<10_000 { await Task.yield() }
    }

    /// Starts tracking, records fixes and reports them.
    func report(_ seconds: Int...) async throws -> VehicleUpdateEvent {
        await self.reporter.startTracking()
        for second in seconds { await self.reporter.record(try .at(second)) }
        await self.reporter.reportNow()
        return try await self.event()
    }
}

extension LocationFix {
    /// A fix at a second, which its latitude tells too.
    static func at(_ second: Int) throws -> Self {
        try Self(latitude: Double(second) / 10, longitude: -122, time: Date(timeIntervalSince1970: Double(second)))
    }
}

extension StubTransport {
    /// An engine that takes everything; one of its answers waits to be released.
    ///
    /// - Parameter held: The request that is not answered before, from 0.
    /// - Returns: The engine, and what releases the answer.
    static func takingAll(holding held: Int) -> (engine: StubTransport, release: AsyncStream<Void>.Continuation) {
        let (gate, release) = AsyncStream.makeStream(of: Void.self)
        let engine = StubTransport { _, index in
            if index == held { for await _ in gate { break } }
            return .ok
        }
        return (engine, release)
    }
}

extension StubTransport.Answer {
    /// The engine took it.
    static var ok: Self { .status(200) }

    /// The engine answers with a status, and an error body in Google's form where it is an error's.
    static func status(_ status: Int, _ error: String? = nil) -> Self {
        let error = error ?? #"{"status":"\#(RPCCode(httpStatus: status).rawValue)"}"#
        let body = status < 400 ? #"{"name":"providers/acme/vehicles/veh-3"}"# : "{\"error\":\(error)}"
        return .response(HTTPTransportResponse(status: status, body: Data(body.utf8)))
    }

    /// What stands before the engine answers in its place.
    static func proxy(_ status: Int) -> Self {
        .response(HTTPTransportResponse(status: status, body: Data("<h1>No backend</h1>".utf8)))
    }

    /// What stands before the engine answers in its place, with success.
    static func page(_ body: String) -> Self {
        .response(HTTPTransportResponse(status: 200, body: Data(body.utf8)))
    }

    /// The network is down.
    static var offline: Self { .failure(TokenClientError(code: .unreachable, message: "No route.")) }
}

extension HTTPTransportRequest {
    /// The masked paths.
    var mask: String? {
        URLComponents(url: self.url, resolvingAgainstBaseURL: true)?.queryItems?.first { $0.name == "updateMask" }?
            .value
    }

    /// The body as JSON.
    var json: [String: Any] {
        get throws {
            let object = try JSONSerialization.jsonObject(with: #require(self.body))
            return try #require(object as? [String: Any])
        }
    }

    /// The latitudes of the past locations and of the last one, in the order in which they are sent.
    var latitudes: [Double] {
        get throws {
            let json = try self.json
            let past = json["pastLocations"] as? [[String: Any]] ?? []
            let last = (json["lastLocation"] as? [String: Any]).map { [$0] } ?? []
            return try (past + last).map { location in
                try #require((location["location"] as? [String: Any])?["latitude"] as? Double)
            }
        }
    }

    /// The `Authorization` header.
    var authorization: String? { self.headers.first { $0.name == "Authorization" }?.value }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokenClient
public import FleetTokens
public import Foundation

/// Watches one trip: asks the engine again and again, and publishes what became different.
///
/// ```swift
/// async let watching: Void = model.run()
/// for await change in await model.changes() {
///     if case .etaToNextWaypoint(let eta) = change { show(eta) }
/// }
/// try await watching
/// ```
///
/// There is never more than one question on its way. While the engine is unavailable the pauses grow, with some
/// randomness, so that many apps do not come back at the same moment. What an answer's `Retry-After` asks for is waited
/// too, an hour at most.
public actor TripModel {
    /// Whom the trip belongs to.
    public nonisolated let provider: ProviderID
    /// The trip.
    public nonisolated let trip: TripID
    /// What is known of the trip; `nil` before the first answer.
    public var snapshot: TripSnapshot? { self.following.snapshot }

    private var following: Following<TripSnapshot>
    /// The versions to send with the next question.
    private var versions = TripMessage.Versions()

    /// Makes a model.
    ///
    /// - Parameters:
    ///   - provider: Whom the trip belongs to.
    ///   - trip: The trip.
    ///   - engine: Where the engine is: `https`, or `http` on this machine.
    ///   - tokens: Where tokens come from; asked at each question.
    ///   - transport: What carries the requests.
    ///   - clock: What pauses and time limits are measured with.
    ///   - configuration: Pauses and limits.
    ///   - random: Numbers from 0 up to 1, for the pauses while the engine is unavailable.
    /// - Throws: `TokenClientError` with `insecureURL` or `invalidConfiguration` when the engine's URL will not do.
    public init(
        provider: ProviderID,
        trip: TripID,
        engine: URL,
        tokens: any TokenProvider,
        transport: any HTTPTransport = URLSessionTransport(),
        clock: some Clock<Duration> = ContinuousClock(),
        configuration: TripModelConfiguration = .init(),
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) throws(TokenClientError) {
        self.provider = provider
        self.trip = trip
        self.following = Following(
            try EnginePolling(
                engine: engine, subject: .consumer(trip), tokens: tokens, transport: transport, clock: clock,
                configuration: configuration, random: random))
    }

    /// What becomes different from now on, after what is known already; a slow reader misses the oldest changes.
    ///
    /// - Returns: A stream of its own, which ends with ``run()``, or at once where the trip is over.
    public func changes() -> AsyncStream<TripChange> {
        self.following.changes()
    }

    /// Asks until the trip is over; one run at a time.
    ///
    /// After one that was cancelled, another goes on from what is known.
    ///
    /// - Throws: `CancellationError` when the calling task was cancelled.
    public func run() async throws {
        try await self.run {}
    }

    /// Asks until the trip is over, and does something after each question.
    func run(afterEach: @Sendable () async -> Void) async throws {
        self.following.beginRun()
        defer { self.following.endRun() }
        try await self.following.polling.run {
            let answer = try await self.following.polling.ask(self.request, lastToken: self.following.lastToken)
            let round = self.following.take(answer, named: "a trip") { (message: TripMessage, old) in
                message.snapshot(of: self.trip, after: old, versions: &self.versions)
            }
            await afterEach()
            return round
        }
    }

    private var request: EngineRequest {
        let versions: [(name: String, value: String?)] = [
            ("currentRouteSegmentVersion", self.versions.route),
            ("currentRouteSegmentTrafficVersion", self.versions.traffic),
            ("remainingWaypointsRouteVersion", self.versions.waypointRoutes),
        ]
        return EngineRequest(
            method: "GET",
            segments: ["v1", "providers", self.provider.value, "trips", self.trip.value],
            query: versions.compactMap { item in item.value.map { (item.name, $0) } }
        )
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokenClient
public import FleetTokens
public import Foundation

/// How a shipment model works: the settings of a trip model.
public typealias ShipmentModelConfiguration = TripModelConfiguration

/// Follows one shipment by its tracking id: asks the engine again and again, and publishes what became different.
///
/// ```swift
/// async let following: Void = model.run()
/// for await change in await model.changes() {
///     if case .estimatedArrival(let time) = change { show(time) }
/// }
/// try await following
/// ```
///
/// What the company does not show, or not yet, is missing in the answers: a part of the snapshot that was there before
/// is then `nil` or empty again. There is never more than one question on its way, and while the engine is
/// unavailable the pauses grow, as those of a ``TripModel`` do.
public actor ShipmentModel {
    /// Whom the shipment belongs to.
    public nonisolated let provider: ProviderID
    /// What the recipient knows the shipment by.
    public nonisolated let tracking: TrackingID
    /// What is known of the shipment; `nil` before the first answer.
    public var snapshot: ShipmentSnapshot? { self.following.snapshot }

    private var following: Following<ShipmentSnapshot>

    /// Makes a model.
    ///
    /// - Parameters:
    ///   - provider: Whom the shipment belongs to.
    ///   - tracking: What the recipient knows the shipment by.
    ///   - engine: Where the engine is: `https`, or `http` on this machine.
    ///   - tokens: Where tokens come from; asked at each question.
    ///   - transport: What carries the requests.
    ///   - clock: What pauses and time limits are measured with.
    ///   - configuration: Pauses and limits.
    ///   - random: Numbers from 0 up to 1, for the pauses while the engine is unavailable.
    /// - Throws: `TokenClientError` with `insecureURL` or `invalidConfiguration` when the engine's URL will not do.
    public init(
        provider: ProviderID,
        tracking: TrackingID,
        engine: URL,
        tokens: any TokenProvider,
        transport: any HTTPTransport = URLSessionTransport(),
        clock: some Clock<Duration> = ContinuousClock(),
        configuration: ShipmentModelConfiguration = .init(),
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) throws(TokenClientError) {
        self.provider = provider
        self.tracking = tracking
        self.following = Following(
            try EnginePolling(
                engine: engine, subject: .deliveryConsumer(tracking), tokens: tokens, transport: transport,
                clock: clock, configuration: configuration, random: random))
    }

    /// What becomes different from now on, after what is known already; a slow reader misses the oldest changes.
    ///
    /// - Returns: A stream of its own, which ends with ``run()``, or at once where the shipment's outcome is known.
    public func changes() -> AsyncStream<ShipmentChange> {
        self.following.changes()
    }

    /// Asks until the shipment's outcome is known; one run at a time.
    ///
    /// After one that was cancelled, another goes on from what is known.
    ///
    /// A task that was closed without an outcome does not end it: the outcome may follow, or another task with the same
    /// tracking id that makes another attempt.
    ///
    /// - Throws: `CancellationError` when the calling task was cancelled.
    public func run() async throws {
        self.following.beginRun()
        defer { self.following.endRun() }
        try await self.following.polling.run {
            let answer = try await self.following.polling.ask(self.request, lastToken: self.following.lastToken)
            return self.following.take(answer, named: "a shipment's tracking information") {
                (message: TrackingMessage, _) in message.snapshot(of: self.tracking)
            }
        }
    }

    private var request: EngineRequest {
        EngineRequest(
            method: "GET",
            segments: ["v1", "providers", self.provider.value, "taskTrackingInfo", self.tracking.value])
    }
}

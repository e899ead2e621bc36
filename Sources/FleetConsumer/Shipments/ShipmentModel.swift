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
    public private(set) var snapshot: ShipmentSnapshot?

    private let polling: EnginePolling
    private let published = Broadcast<ShipmentChange>()
    private var lastToken = LastToken()
    /// How many runs there are: one that was cancelled may end after the next one began.
    private var runs = 0

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
        let time = MonotonicTime(clock)
        let call = AuthorizedCall(
            endpoint: try EngineEndpoint(engine),
            subject: .deliveryConsumer(tracking),
            tokens: tokens,
            transport: transport,
            time: time
        )
        self.polling = EnginePolling(call: call, time: time, configuration: configuration, random: random)
    }

    /// What becomes different from now on, after what is known already; a slow reader misses the oldest changes.
    ///
    /// - Returns: A stream of its own, which ends with ``run()``, or at once where the shipment's outcome is known.
    public func changes() -> AsyncStream<ShipmentChange> {
        // One answer makes up to nine changes, which must fit.
        self.published.stream(
            bufferingNewest: max(16, self.polling.configuration.changeCapacity),
            after: self.snapshot?.changes(since: nil) ?? [], isOver: self.isOver)
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
        self.runs += 1
        defer {
            self.runs -= 1
            if self.isOver || self.runs == 0 { self.published.finish() }
        }
        try await self.polling.run { try await self.poll() }
    }

    // MARK: - One question

    private var isOver: Bool { self.snapshot?.outcome != nil }

    private func poll() async throws -> EnginePolling.Round {
        let request = EngineRequest(
            method: "GET",
            segments: ["v1", "providers", self.provider.value, "taskTrackingInfo", self.tracking.value])
        let answer = try await self.polling.call.send(
            request, lastToken: self.lastToken, limit: self.polling.configuration.timeLimit)
        self.lastToken.take(answer)
        var failure: EngineFailure?
        do throws(EngineFailure) {
            self.take(
                try EnginePolling.message(TrackingMessage.self, in: answer, named: "a shipment's tracking information"))
        } catch {
            self.published.send(.failure(error))
            failure = error
        }
        return EnginePolling.Round(failure: failure, isOver: self.isOver)
    }

    private func take(_ message: TrackingMessage) {
        let old = self.snapshot
        let new = message.snapshot(of: self.tracking)
        self.snapshot = new
        for change in new.changes(since: old) { self.published.send(change) }
    }
}

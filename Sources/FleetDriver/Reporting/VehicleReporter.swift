// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokenClient
public import FleetTokens
public import Foundation

/// Reports the location and the state of one on-demand vehicle to the engine.
///
/// Tracking is off at first, and ``state`` is offline. Nothing is sent for that: a vehicle that was left online before, as
/// by an app that was killed, stays so until the first report, or until ``setState(_:)`` with ``VehicleState/offline``.
/// With tracking on, ``run(reporting:endsTracking:)`` sends one report at each interval: the state, the newest location,
/// and the locations that could not be sent before. There is never more than one report on its way, and one report ends,
/// by success or by its time limit, before the next is due. What became of each, ``updates()`` tells.
///
/// ```swift
/// await reporter.startTracking()
/// try await reporter.setState(.online)
/// try await reporter.run(reporting: locations, endsTracking: true)
/// ```
public actor VehicleReporter {
    /// Whom the vehicle belongs to.
    public nonisolated let provider: ProviderID
    /// The vehicle.
    public nonisolated let vehicle: VehicleID

    var pace: ReportPace
    private var configuration: VehicleReporterConfiguration
    private let call: AuthorizedCall
    private let events = Broadcast<VehicleUpdateEvent>()
    private let eventCapacity: Int
    private var plan: ReportPlan
    private var lastToken = LastToken()

    /// Makes a reporter.
    ///
    /// - Parameters:
    ///   - provider: Whom the vehicle belongs to.
    ///   - vehicle: The vehicle.
    ///   - engine: Where the engine is: `https`, or `http` on this machine.
    ///   - tokens: Where tokens come from; asked at each report.
    ///   - transport: What carries the requests.
    ///   - clock: What intervals and time limits are measured with.
    ///   - configuration: Interval, limits and buffer.
    /// - Throws: `TokenClientError` with `insecureURL` or `invalidConfiguration` when the engine's URL will not do.
    public init(
        provider: ProviderID,
        vehicle: VehicleID,
        engine: URL,
        tokens: any TokenProvider,
        transport: any HTTPTransport = URLSessionTransport(),
        clock: some Clock<Duration> = ContinuousClock(),
        configuration: VehicleReporterConfiguration = .init()
    ) throws(TokenClientError) {
        self.provider = provider
        self.vehicle = vehicle
        self.configuration = configuration
        let time = MonotonicTime(clock)
        self.pace = ReportPace(time)
        self.call = AuthorizedCall(
            endpoint: try EngineEndpoint(engine),
            subject: .driver(vehicle),
            tokens: tokens,
            transport: transport,
            time: time
        )
        self.plan = ReportPlan(capacity: configuration.capacity)
        self.eventCapacity = configuration.eventCapacity
    }

    /// What becomes of each report from now on; a slow reader misses the oldest events.
    ///
    /// - Returns: A stream of its own, which ends with the reporter.
    public nonisolated func updates() -> AsyncStream<VehicleUpdateEvent> {
        self.events.stream(bufferingNewest: self.eventCapacity)
    }

    // MARK: - Tracking and state

    /// Whether locations are reported.
    public var isTracking: Bool { self.plan.isTracking }

    /// The state that the vehicle shall have; the engine knows it after the next successful report.
    public var state: VehicleState { self.plan.state }

    /// Begins to report locations; the vehicle stays offline until it is set online.
    public func startTracking() {
        self.plan.startTracking()
    }

    /// Ends tracking: sends one last report that sets the vehicle offline, and returns when that is done.
    ///
    /// The report is sent even when the calling task is cancelled. It is not repeated when it fails, so that the vehicle
    /// may still be online; ``setState(_:)`` with ``VehicleState/offline`` says it once more. A backlog of more than 500
    /// fixes takes several reports. Fixes are not kept until tracking starts again.
    public func stopTracking() async {
        await self.comeToEnd(self.plan.stopTracking())
    }

    /// Sets the vehicle's state, and reports it at once, or right behind the report that is on its way.
    ///
    /// Several callers who wait for what is on its way share the report behind it. One that fails is repeated at each
    /// interval of ``run(reporting:endsTracking:)``, or by ``reportNow()``, while tracking is on. While it is off, one report
    /// sets the vehicle offline, behind the one that is on its way, and even when the calling task is cancelled. Nothing is
    /// sent where the engine is known to have the vehicle offline.
    ///
    /// - Parameter state: The wanted state.
    /// - Throws: ``DriverError`` with ``DriverError/Code/trackingDisabled`` for online while tracking is off.
    public func setState(_ state: VehicleState) async throws(DriverError) {
        try self.plan.set(state)
        guard !self.plan.isTracking else { return await self.reportState() }
        await self.comeToRest()
        // Tracking may have been turned on meanwhile.
        guard !self.plan.isTracking else { return await self.reportNow() }
        if let report = self.plan.offlineReport() { _ = await self.begin(report).value }
    }

    /// What is on its way may carry the state before, or this one already.
    private func reportState() async {
        guard self.pace.exchange != nil else { return await self.reportInTurn() }
        await self.comeToRest()
        if self.plan.isStateDue { await self.reportInTurn() }
    }

    /// The time between two reports, always within ``VehicleReporterConfiguration/reportingIntervals``.
    public var reportingInterval: Duration { self.configuration.reportingInterval }

    /// Changes the time between two reports, from the next report on.
    public func setReportingInterval(_ interval: Duration) {
        self.configuration.reportingInterval = interval
    }

    // MARK: - Locations

    /// Keeps a location for the next report; while tracking is off it is ignored.
    public func record(_ fix: LocationFix) {
        self.plan.record(fix)
    }

    /// Reports the locations of a source, at once for the first and then at each interval, until the source ends.
    ///
    /// Start tracking first: locations that come while it is off are ignored. Those after the last report are reported
    /// when the source ends, however soon that is after it.
    ///
    /// - Parameters:
    ///   - source: Where the locations come from; iterated anew by each run.
    ///   - endsTracking: Whether tracking ends with the source, as by ``stopTracking()``: the locations after the last
    ///     report go with the update that sets the vehicle offline then, and need none of their own. A source that
    ///     throws, or a task that is cancelled, ends no tracking.
    /// - Throws: What the source throws, or `CancellationError` when the calling task was cancelled.
    public func run(reporting source: some LocationSource, endsTracking: Bool = false) async throws {
        try await self.report(from: source, endsTracking: endsTracking)
    }

    /// Sends a report now, unless one is on its way or there is nothing to say.
    public func reportNow() async {
        guard self.pace.exchange == nil else { return self.putOffNextReport() }
        await self.reportInTurn()
    }
}

// MARK: - One report

extension VehicleReporter: LocationReporting {
    var unsentCount: Int { self.plan.unsentCount }

    func sendLast() async {
        repeat {
            await self.comeToRest()
            // Tracking may have been turned on meanwhile.
            guard !self.plan.isTracking else { return await self.reportNow() }
            guard await self.begin(self.plan.lastReport()).value == nil else { return }
        } while !self.plan.isTracking && self.plan.unsentCount > 0
    }

    func reportInTurn() async {
        self.putOffNextReport()
        await self.comeToRest()
        if let report = self.plan.nextReport() { await self.exchange(report) }
    }

    func send(_ report: VehicleReport) async -> (any Error)? {
        // Throws when the task is cancelled only; the fixes stay unsent then.
        guard
            let answer = try? await self.call.send(
                lastToken: self.lastToken,
                limit: self.configuration.effectiveTimeLimit,
                {
                    self.plan.noteSending(report)
                    return report.request(
                        provider: self.provider, vehicle: self.vehicle, sensor: self.configuration.sensor)
                }
            ).checked(as: "a vehicle")
        else { return CancellationError() }

        self.lastToken.take(answer)
        var outcome = VehicleUpdateEvent.Outcome.succeeded
        if case .failure(let failure) = answer.result { outcome = .failed(failure) }
        var event = VehicleUpdateEvent(
            outcome: outcome,
            state: report.state,
            location: report.fixes.last,
            pastLocationCount: report.fixes.past.count,
            unsentCount: 0,
            droppedCount: 0,
            tokenWait: answer.tokenWait
        )
        self.plan.finish(report, event.failure)
        event.unsentCount = self.plan.unsentCount
        event.droppedCount = self.plan.takeDropped()
        self.events.send(event)
        return event.failure
    }
}

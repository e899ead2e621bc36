// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokenClient
public import FleetTokens
public import Foundation

/// Reports the location of one delivery vehicle to the engine, what becomes of its stops, and how its tasks end.
///
/// Locations go out as those of a ``VehicleReporter``: one report at each interval while tracking is on, with what could
/// not be sent before. A change of the stops, or a task's outcome, goes out at once; when that fails for a reason that may
/// pass, the error is thrown, and the change is kept and repeated after each report while tracking is on. So is one whose
/// calling task was cancelled while it was being sent, as nobody knows what became of it; cancelled before, the call
/// changes nothing. What becomes of one that was kept, ``updates()`` tells, also where it is dropped because its stop is
/// gone by then. Only a list of all stops is not kept, see ``setStops(_:)``. Changes of the stops are made in the order of
/// the calls, and there is never more than one exchange with the engine on its way.
///
/// Locations travel with the vehicle's own token. Stops and tasks are for trusted devices only, whose tokens name a task
/// besides: the first one of the stop, or the one whose outcome is told. A token for the vehicle alone will do for stops
/// where its role lets it, and is asked for where the token server has none that names a task; whether it does is up to
/// the engine.
///
/// ```swift
/// await reporter.startTracking()
/// async let shift: Void = reporter.run(reporting: locations)
/// try await reporter.reportEnrouteToNextStop()
/// try await reporter.reportArrivedAtStop()
/// try await reporter.reportOutcome(.succeeded, of: task)
/// try await reporter.reportCompletedStop()
/// ```
public actor DeliveryVehicleReporter {
    /// Whom the vehicle belongs to.
    public nonisolated let provider: ProviderID
    /// The vehicle.
    public nonisolated let vehicle: DeliveryVehicleID

    var pace: ReportPace
    var configuration: VehicleReporterConfiguration
    var plan: DeliveryReportPlan
    let calls: DeliveryCalls
    let events = Broadcast<DeliveryVehicleUpdateEvent>()
    private let eventCapacity: Int
    /// The tokens that were sent last, which tell a 403 after a token change from any other.
    var lastToken = LastToken()
    var lastTaskToken = LastToken()
    /// How many reports of locations are on their way, or wait for what is.
    private var reportCount = 0
    private(set) var repeating: Task<Void, Never>?
    /// Ends when every call about stops has made its change, or none.
    private(set) var lastTurn: Task<Void, Never>?
    /// Before this nothing is repeated, as the engine or the token server asked for.
    private var repeatsFrom: MonotonicInstant?

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
        vehicle: DeliveryVehicleID,
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
        self.calls = DeliveryCalls(
            provider: provider, vehicle: vehicle, endpoint: try EngineEndpoint(engine), tokens: tokens,
            transport: transport, time: time)
        self.plan = DeliveryReportPlan(capacity: configuration.capacity)
        self.eventCapacity = configuration.eventCapacity
    }

    /// What becomes of each report from now on; a slow reader misses the oldest events.
    ///
    /// - Returns: A stream of its own, which ends with the reporter.
    public nonisolated func updates() -> AsyncStream<DeliveryVehicleUpdateEvent> {
        self.events.stream(bufferingNewest: self.eventCapacity)
    }

    // MARK: - Locations

    /// Whether locations are reported.
    public var isTracking: Bool { self.plan.isTracking }

    /// Begins to report locations.
    public func startTracking() {
        self.plan.startTracking()
    }

    /// Ends tracking: sends what is unsent once more, and returns when that is done.
    ///
    /// It is sent even when the calling task is cancelled, and however soon after the last report. Fixes are not kept
    /// until tracking starts again; changes of stops and outcomes of tasks are.
    public func stopTracking() async {
        await self.comeToEnd(self.plan.stopTracking())
    }

    /// The time between two reports, always within ``VehicleReporterConfiguration/reportingIntervals``.
    public var reportingInterval: Duration { self.configuration.reportingInterval }

    /// Changes the time between two reports, from the next report on.
    public func setReportingInterval(_ interval: Duration) {
        self.configuration.reportingInterval = interval
    }

    /// Keeps a location for the next report; while tracking is off it is ignored.
    public func record(_ fix: LocationFix) {
        self.plan.record(fix)
    }

    /// Reports the locations of a source, at once for the first and then at each interval, until the source ends.
    ///
    /// Start tracking first: locations that come while it is off are ignored. Those after the last report are reported
    /// when the source ends, however soon that is after it: an app that waited might not be there any more. Where the
    /// service's least time between two updates, five seconds, must never be broken, end the source no sooner than that
    /// after the newest report in ``updates()``.
    ///
    /// - Parameter source: Where the locations come from; iterated anew by each run.
    /// - Throws: What the source throws, or `CancellationError` when the calling task was cancelled.
    public func run(reporting source: some LocationSource) async throws {
        try await self.report(from: source)
    }

    /// Sends the locations now, unless they are on their way, and then whatever could not be sent before.
    public func reportNow() async {
        guard self.reportCount == 0 else { return self.putOffNextReport() }
        await self.reportInTurn()
    }

    func sendLast() async {
        repeat {
            await self.comeToRest()
            guard let last = self.plan.lastLocations(),
                await self.begin(.locations(last, endsTracking: true)).value == nil
            else { break }
        } while !self.plan.isTracking
        if !self.plan.isTracking { self.plan.forgetFixes() }
        let task = self.repeatPending()
        await task.value
    }

    func reportInTurn() async {
        self.putOffNextReport()
        self.reportCount += 1
        await self.comeToRest()
        if let locations = self.plan.nextLocations() {
            await self.exchange(.locations(locations, endsTracking: false))
        }
        self.reportCount -= 1
        // Beside the next report, which must not wait for all of these.
        if self.plan.isTracking { _ = self.repeatPending() }
    }

    // MARK: - Stops

    /// The stops that are left, changes included that the engine has not taken yet; `nil` before they were first read.
    public var remainingStops: [VehicleStop]? { self.plan.remainingStops }

    /// Asks the engine for the stops that are left.
    ///
    /// - Returns: The stops, changes included that the engine has not taken yet.
    /// - Throws: `EngineFailure`, or `CancellationError` when the calling task was cancelled.
    public func readRemainingStops() async throws -> [VehicleStop] {
        try await self.comeToRestUnlessCancelled()
        if let failure = await self.exchange(.reading) { throw failure }
        return self.plan.remainingStops ?? []
    }

    /// Sets all stops that are left, in the order in which the vehicle will visit them.
    ///
    /// A task that is in no stop any more closes. So a list that did not get through is not kept, unlike the other
    /// changes: later, it would undo what a dispatcher set meanwhile. Read the stops before you set them once more; the
    /// engine may have taken the list though its answer was lost.
    ///
    /// - Parameter stops: The stops, of which only the first may be begun.
    /// - Returns: The stops that the engine has now.
    /// - Throws: ``DriverError`` with ``DriverError/Code/invalidStops``, `EngineFailure`, or `CancellationError`.
    @discardableResult public func setStops(_ stops: [VehicleStop]) async throws -> [VehicleStop] {
        let change = try DeliveryReportPlan.replacingStops(by: stops)
        return try await self.deliver { change }
    }

    /// Says that the vehicle is on its way to the first stop that is left.
    ///
    /// The first one is that of ``remainingStops``, even when the engine has others before it by now; while none is
    /// known, the engine is asked.
    ///
    /// - Returns: The stops that the engine has now.
    /// - Throws: ``DriverError`` with ``DriverError/Code/noRemainingStops``, or with ``DriverError/Code/stopGone`` for a
    ///   stop that a dispatcher took off the list; `EngineFailure`, or `CancellationError`. After a failure that may
    ///   pass, or a cancellation while it was being sent, the change is kept and repeated.
    @discardableResult public func reportEnrouteToNextStop() async throws -> [VehicleStop] {
        try await self.deliver {
            try await self.learnStops()
            return try self.plan.settingNextStop(to: .enroute)
        }
    }

    /// Says that the vehicle is at the first stop that is left.
    ///
    /// The first one is that of ``remainingStops``, even when the engine has others before it by now; while none is
    /// known, the engine is asked.
    ///
    /// - Returns: The stops that the engine has now.
    /// - Throws: ``DriverError`` with ``DriverError/Code/noRemainingStops``, or with ``DriverError/Code/stopGone`` for a
    ///   stop that a dispatcher took off the list; `EngineFailure`, or `CancellationError`. After a failure that may
    ///   pass, or a cancellation while it was being sent, the change is kept and repeated.
    @discardableResult public func reportArrivedAtStop() async throws -> [VehicleStop] {
        try await self.deliver {
            try await self.learnStops()
            return try self.plan.settingNextStop(to: .arrived)
        }
    }

    /// Says that the first stop is done: takes it off the list, which closes its tasks.
    ///
    /// Tasks that a dispatcher added to the stop, and which are not in ``remainingStops`` yet, stay on the list.
    ///
    /// - Returns: The stops that are left.
    /// - Throws: ``DriverError`` with ``DriverError/Code/noRemainingStops``, or with
    ///   ``DriverError/Code/stopNotBegun`` for a stop that was reported neither enroute nor arrived; `EngineFailure`, or
    ///   `CancellationError`. After a failure that may pass, or a cancellation while it was being sent, the change is kept
    ///   and repeated.
    @discardableResult public func reportCompletedStop() async throws -> [VehicleStop] {
        try await self.deliver {
            try await self.learnStops()
            return try self.plan.completingStop()
        }
    }

    /// Reads the list while no stop of it is known: a dispatcher may have set some since.
    private func learnStops() async throws {
        if self.plan.remainingStops?.isEmpty != false { _ = try await self.readRemainingStops() }
    }

    private func deliver(_ makeChange: () async throws -> StopChange) async throws -> [VehicleStop] {
        let number = try await self.inTurn {
            let change = try await makeChange()
            try Task.checkCancellation()
            return self.plan.stopChanges.add(change)
        }
        let failure = await self.failure(of: .stops(upTo: number)) { self.plan.stopChanges.isPending(number) }
        if let failure = self.plan.endStopWait(number, failure) { throw failure }
        return self.plan.remainingStops ?? []
    }

    /// Does something when the calls before have done theirs; one that is cancelled meanwhile holds up no other.
    ///
    /// Who waits for the list takes its turn here, so that changes are made in the order of the calls.
    private func inTurn<Value>(_ work: () async throws -> Value) async throws -> Value {
        let before = self.lastTurn
        let (ended, end) = AsyncStream.makeStream(of: Never.self)
        defer { end.finish() }
        self.lastTurn = Task {
            await before?.value
            for await _ in ended {}
        }
        if let before { try await firstOutcome(of: { await before.value }, orAfter: { nil }).get() }
        return try await work()
    }

    /// Sends a change behind whatever is on its way, unless it has gone out with that.
    ///
    /// - Returns: Why it was not taken, or `CancellationError`.
    private func failure(of report: DeliveryReport, ifStill isPending: () -> Bool) async -> (any Error)? {
        do {
            try await self.comeToRestUnlessCancelled()
            return isPending() ? await self.exchange(report) : nil
        } catch {
            return error
        }
    }

    // MARK: - Tasks

    /// Says how a task ended, with a token for that task.
    ///
    /// The engine takes one outcome for each task, which cannot be changed.
    ///
    /// - Parameters:
    ///   - outcome: How it ended.
    ///   - task: The task.
    ///   - time: When it ended.
    ///   - place: Where it ended; by default, the newest location while tracking is on.
    /// - Throws: `EngineFailure`, or `CancellationError`. After a failure that may pass, or a cancellation while it
    ///   was being sent, the outcome is kept and repeated.
    public func reportOutcome(
        _ outcome: TaskOutcome, of task: TaskID, at time: Date = Date(), place: LocationFix? = nil
    ) async throws {
        try Task.checkCancellation()
        let number = self.plan.outcomes.add(
            TaskOutcomeReport(task: task, outcome: outcome, time: time, place: place ?? self.plan.fixes.newest))
        let failure = await self.failure(of: .outcome(number)) { self.plan.outcomes.isPending(number) }
        if let failure = self.plan.outcomes.endWait(number, failure) { throw failure }
    }

    // MARK: - What failed before

    /// Repeats the changes that nobody waits for any more, until one does not get through.
    private func repeatPending() -> Task<Void, Never> {
        if let repeating = self.repeating { return repeating }
        let task = Task {
            await self.sendAbandoned()
            self.repeating = nil
        }
        self.repeating = task
        return task
    }

    private func sendAbandoned() async {
        if let repeatsFrom, self.pace.time.now < repeatsFrom { return }
        self.repeatsFrom = nil
        let stops = self.plan.stopChanges.abandoned.last.map { DeliveryReport.stops(upTo: $0) }
        for report in [stops].compactMap(\.self) + self.plan.outcomes.abandoned.map(DeliveryReport.outcome) {
            await self.comeToRest()
            guard let failure = await self.exchange(report) as? EngineFailure else { continue }
            if let pause = failure.retryAfter { self.repeatsFrom = self.pace.time.now.advanced(by: pause) }
            // The others would fail alike, and an engine or a token server in trouble is not helped by more requests.
            if failure.stage == .connection || failure.code.isPassing || failure.isOfMissingEngine { return }
        }
    }
}

extension EngineFailure {
    /// Whether something before the engine answers because the engine is away, and not for what it was sent.
    fileprivate var isOfMissingEngine: Bool {
        guard self.stage == .engine, !self.isEnginesOwn, let status = self.httpStatus else { return false }
        return status == 404 || status >= 500
    }
}

extension RPCCode {
    fileprivate var isPassing: Bool { [.unavailable, .deadlineExceeded, .resourceExhausted].contains(self) }
}

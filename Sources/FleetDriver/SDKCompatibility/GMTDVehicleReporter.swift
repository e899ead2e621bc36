// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens

/// Reports one vehicle's location and state, in the shape of Google's Driver SDK; for the main thread only.
///
/// Underneath is a ``VehicleReporter``, or a ``DeliveryVehicleReporter`` for scheduled tasks. Settings take effect in the order in which they were made. When the last
/// reference goes, reporting stops without a last report; turn tracking off before.
@preconcurrency @MainActor public class GMTDVehicleReporter: NSObject {
    private enum Command: Sendable {
        case track(AsyncStream<LocationFix>)
        case stop
        case perform(@MainActor @Sendable () async -> Void)
        case interval(Duration)
    }

    private struct WeakListener {
        weak var listener: (any GMTDVehicleReporterListener)?
    }

    private static let intervals: ClosedRange<TimeInterval> = 5...60

    private let commands: AsyncStream<Command>.Continuation
    private let setState: (@Sendable (VehicleState) async throws(DriverError) -> Void)?
    private let locations: (any LocationSource)?
    private var listeners: [WeakListener] = []
    private var fixes: AsyncStream<LocationFix>.Continuation?
    private var forwarding: Task<Void, Never>?

    /// Whether locations are reported; off at first.
    ///
    /// Turning it off sends one report that sets the vehicle offline, with the locations that were recorded before and
    /// not sent yet, and it stays offline until ``update(_:)``. When that report fails, the vehicle may still be online;
    /// `update(.offline)` says it once more.
    public var locationTrackingEnabled = false {
        didSet {
            guard self.locationTrackingEnabled != oldValue else { return }
            if self.locationTrackingEnabled { self.startTracking() } else { self.stopTracking() }
        }
    }

    /// The seconds between two reports; values outside 5 to 60 become the nearest bound.
    public var locationReportingInterval: TimeInterval = 10 {
        didSet {
            let wanted = self.locationReportingInterval
            let bounds = Self.intervals
            self.locationReportingInterval =
                wanted.isNaN ? oldValue : min(max(wanted, bounds.lowerBound), bounds.upperBound)
            self.commands.yield(.interval(.seconds(self.locationReportingInterval)))
        }
    }

    convenience init(_ context: GMTDDriverContext) throws {
        let reporter = try VehicleReporter(
            provider: ProviderID(checking: context.providerID),
            vehicle: VehicleID(checking: context.vehicleID),
            engine: context.engine.engine,
            tokens: DriverAuthorizationTokens(context.accessTokenProvider),
            transport: context.engine.transport,
            clock: context.engine.clock
        )
        self.init(
            reporter, locations: context.locations,
            setState: { state throws(DriverError) in try await reporter.setState(state) })
        let updates = reporter.updates()
        Task { [weak self] in
            for await event in updates {
                self?.tell(
                    GMTDVehicleUpdate(vehicleState: GMTDVehicleState(event.state), location: event.location),
                    failure: event.failure?.grpcError)
            }
        }
    }

    init(
        _ reporter: some LocationReporting,
        locations: (any LocationSource)?,
        setState: (@Sendable (VehicleState) async throws(DriverError) -> Void)? = nil
    ) {
        let commands: AsyncStream<Command>
        (commands, self.commands) = AsyncStream.makeStream()
        self.locations = locations
        self.setState = setState
        super.init()
        Task { await Self.carryOut(commands, with: reporter) }
    }

    deinit {
        self.commands.finish()
        self.forwarding?.cancel()
    }

    // MARK: - What the driver does

    /// Sets the vehicle's state; listeners hear whether the engine took it.
    ///
    /// A report that fails is repeated at each interval while tracking is on. Where tracking is turned off before the state
    /// was reported, the update that ends it is the answer. While it is off, one report sets the vehicle offline; where the
    /// engine is known to have it so, nothing is sent, and listeners hear nothing.
    /// Delivery vehicles have no such state, and nothing is done for them.
    public func update(_ state: GMTDVehicleState) {
        guard let setState = self.setState else { return }
        let wasTracking = self.locationTrackingEnabled
        self.perform { [weak self] in
            do throws(DriverError) {
                try await setState(state.state)
            } catch {
                // The end of tracking waits for no state that was set before it, and its own update says what holds.
                guard !wasTracking else { return }
                let cause = GMTDVehicleReporterErrorCode.locationTrackingNotEnabled.error(error.message)
                self?.tell(GMTDVehicleUpdate(vehicleState: state, location: nil), failure: cause)
            }
        }
    }

    /// Does something after everything that was said before.
    func perform(_ work: @escaping @MainActor @Sendable () async -> Void) {
        self.commands.yield(.perform(work))
    }

    /// Keeps a location for the next report; ignored while tracking is off.
    ///
    /// The SDK takes locations from the navigator; an app without one hands them over here, or gives the context a
    /// ``LocationSource``.
    public func record(_ fix: LocationFix) {
        self.fixes?.yield(fix)
    }

    // MARK: - Listeners

    /// Adds a listener, which is not kept alive.
    public func add(_ listener: any GMTDVehicleReporterListener) {
        self.remove(listener)
        self.listeners.append(WeakListener(listener: listener))
    }

    /// Removes a listener, which hears nothing more, also inside a callback.
    public func remove(_ listener: any GMTDVehicleReporterListener) {
        self.listeners.removeAll { $0.listener == nil || $0.listener === listener }
    }

    func tell(_ update: GMTDVehicleUpdate, failure: NSError?) {
        let error = failure.map { GMTDVehicleReporterErrorCode.updateFailed($0) }
        for listener in self.listeners.compactMap(\.listener) {
            // A callback just before may have removed it.
            guard self.listeners.contains(where: { $0.listener === listener }) else { continue }
            if let error {
                listener.vehicleReporter(self, didFail: update, withError: error)
            } else {
                listener.vehicleReporter(self, didSucceed: update)
            }
        }
    }

    // MARK: - Tracking

    private static func carryOut(_ commands: AsyncStream<Command>, with reporter: some LocationReporting) async {
        var tracking: Task<Void, Never>?
        for await command in commands {
            switch command {
            case .track(let fixes):
                await reporter.startTracking()
                tracking = Task { try? await reporter.report(from: fixes, endsTracking: true) }
            case .stop:
                // The fixes have ended, and tracking ends behind the last of them.
                await tracking?.value
            case .perform(let work): await work()
            case .interval(let interval): await reporter.setReportingInterval(interval)
            }
        }
        tracking?.cancel()
    }

    private func startTracking() {
        let (stream, fixes) = AsyncStream.makeStream(of: LocationFix.self, bufferingPolicy: .bufferingNewest(360))
        self.fixes = fixes
        self.commands.yield(.track(stream))
        guard let locations = self.locations else { return }
        self.forwarding = Task { [weak self] in
            do {
                try await Self.forward(locations, to: fixes)
                try Task.checkCancellation()
                self?.tellOfNoLocations(
                    """
                    The source of locations ended; turn tracking off and on to start it again. A bare AsyncStream serves \
                    one run and ends at once in the next: use StreamLocationSource.
                    """)
            } catch is CancellationError {
            } catch {
                self?.tellOfNoLocations(
                    "The source of locations failed; turn tracking off and on to try again.", cause: error)
            }
        }
    }

    private func tellOfNoLocations(_ message: String, cause: (any Error)? = nil) {
        self.tell(
            GMTDVehicleUpdate(vehicleState: .offline, location: nil),
            failure: GMTDVehicleReporterErrorCode.noLastKnownLocation.error(message, cause: cause))
    }

    private func stopTracking() {
        self.forwarding?.cancel()
        self.forwarding = nil
        self.fixes?.finish()
        self.fixes = nil
        self.commands.yield(.stop)
    }

    private static func forward(
        _ locations: some LocationSource, to fixes: AsyncStream<LocationFix>.Continuation
    ) async throws {
        for try await fix in locations { fixes.yield(fix) }
    }
}

extension GMTDVehicleState {
    fileprivate init(_ state: VehicleState) {
        self = state == .online ? .online : .offline
    }

    fileprivate var state: VehicleState { self == .online ? .online : .offline }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens

/// Gets the stops that are left, or an `NSError`, and never both; called once.
public typealias GMTDVehicleReporterStopCompletionHandler =
    @MainActor @Sendable (_ stops: [GMTDVehicleStop]?, _ error: (any Error)?) -> Void

/// Reports a delivery vehicle's location and its stops, in the shape of Google's Driver SDK; for the main thread only.
///
/// Underneath is a ``DeliveryVehicleReporter``. What is said takes effect in the order in which it was said. After an
/// error that may pass, a change is kept and repeated while tracking is on; only a list of all stops is not. Where the
/// engine refuses it then for good, or its stop is gone, listeners hear of an update that failed.
@preconcurrency @MainActor public final class GMTDDeliveryVehicleReporter: GMTDVehicleReporter {
    private let reporter: DeliveryVehicleReporter

    init(_ reporter: DeliveryVehicleReporter, locations: (any LocationSource)?) {
        self.reporter = reporter
        super.init(reporter, locations: locations)
        let updates = reporter.updates()
        Task { [weak self] in
            for await event in updates {
                var location: LocationFix?
                if case .locations(let newest, _) = event.content {
                    location = newest
                } else if !event.losesStopChange {
                    // What became of stops, their completions hear, but for a change that was kept.
                    continue
                }
                self?.tell(
                    GMTDVehicleUpdate(vehicleState: .offline, location: location), failure: event.failure?.grpcError)
            }
        }
    }

    // MARK: - Stops

    /// Sets all stops that are left, in the order in which the vehicle will visit them; not repeated after an error.
    ///
    /// - Parameters:
    ///   - vehicleStops: The stops, of which only the first may be begun.
    ///   - completion: Gets the stops that the engine has now.
    public func setVehicleStops(
        _ vehicleStops: [GMTDVehicleStop], completion: @escaping GMTDVehicleReporterStopCompletionHandler
    ) {
        self.answer(completion) { try await $0.setStops(vehicleStops.map { try $0.stop }) }
    }

    /// Says that the vehicle is on its way to the first stop that is left.
    public func reportEnrouteToNextStop(completion: @escaping GMTDVehicleReporterStopCompletionHandler) {
        self.answer(completion) { try await $0.reportEnrouteToNextStop() }
    }

    /// Says that the vehicle is at the first stop that is left.
    public func reportArrivedAtStop(completion: @escaping GMTDVehicleReporterStopCompletionHandler) {
        self.answer(completion) { try await $0.reportArrivedAtStop() }
    }

    /// Says that the first stop is done, which closes its tasks; it has to be reported as begun before.
    public func reportCompletedStop(completion: @escaping GMTDVehicleReporterStopCompletionHandler) {
        self.answer(completion) { try await $0.reportCompletedStop() }
    }

    /// Asks the engine for the stops that are left.
    public func getRemainingVehicleStops(completion: @escaping GMTDVehicleReporterStopCompletionHandler) {
        self.answer(completion) { try await $0.readRemainingStops() }
    }

    private func answer(
        _ completion: @escaping GMTDVehicleReporterStopCompletionHandler,
        _ work: @escaping @Sendable (DeliveryVehicleReporter) async throws -> [VehicleStop]
    ) {
        self.perform { [reporter] in
            do {
                let stops = try await work(reporter)
                completion(stops.map { GMTDVehicleStop($0) }, nil)
            } catch {
                completion(nil, GMTDVehicleReporterErrorCode.stopError(error))
            }
        }
    }
}

// MARK: - The same as async functions

extension GMTDDeliveryVehicleReporter {
    /// Sets all stops that are left, in the order in which the vehicle will visit them; not repeated after an error.
    ///
    /// - Parameter vehicleStops: The stops, of which only the first may be begun.
    /// - Returns: The stops that the engine has now.
    /// - Throws: An `NSError`.
    @discardableResult public func setVehicleStops(_ vehicleStops: [GMTDVehicleStop]) async throws -> [GMTDVehicleStop]
    {
        try await Self.wait { self.setVehicleStops(vehicleStops, completion: $0) }
    }

    /// Says that the vehicle is on its way to the first stop that is left.
    ///
    /// - Returns: The stops that the engine has now.
    /// - Throws: An `NSError`.
    @discardableResult public func reportEnrouteToNextStop() async throws -> [GMTDVehicleStop] {
        try await Self.wait { self.reportEnrouteToNextStop(completion: $0) }
    }

    /// Says that the vehicle is at the first stop that is left.
    ///
    /// - Returns: The stops that the engine has now.
    /// - Throws: An `NSError`.
    @discardableResult public func reportArrivedAtStop() async throws -> [GMTDVehicleStop] {
        try await Self.wait { self.reportArrivedAtStop(completion: $0) }
    }

    /// Says that the first stop is done, which closes its tasks.
    ///
    /// - Returns: The stops that are left.
    /// - Throws: An `NSError`.
    @discardableResult public func reportCompletedStop() async throws -> [GMTDVehicleStop] {
        try await Self.wait { self.reportCompletedStop(completion: $0) }
    }

    /// Asks the engine for the stops that are left.
    ///
    /// - Returns: The stops.
    /// - Throws: An `NSError`.
    public func remainingVehicleStops() async throws -> [GMTDVehicleStop] {
        try await Self.wait { self.getRemainingVehicleStops(completion: $0) }
    }

    private static func wait(
        _ ask: (@escaping GMTDVehicleReporterStopCompletionHandler) -> Void
    ) async throws -> [GMTDVehicleStop] {
        try await withCheckedThrowingContinuation { continuation in
            ask { stops, error in
                continuation.resume(with: error.map { .failure($0) } ?? .success(stops ?? []))
            }
        }
    }
}

extension GMTDVehicleReporterErrorCode {
    /// The error of a stop's completion: the engine's own with gRPC's number, or a general one.
    static func stopError(_ error: any Error) -> NSError {
        switch error {
        case let error as EngineFailure: error.grpcError
        case let error as DriverError: Self.general.error(error.message, cause: error)
        case let error as TokenError: Self.general.error(error.message, cause: error)
        default: Self.general.error("The report was not sent.", cause: error)
        }
    }
}

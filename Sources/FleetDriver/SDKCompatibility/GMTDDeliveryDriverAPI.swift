// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens

/// The driver's side of scheduled tasks, in the shape of Google's Driver SDK.
@preconcurrency @MainActor public final class GMTDDeliveryDriverAPI: NSObject {
    /// Reports the vehicle and its stops.
    public let vehicleReporter: GMTDDeliveryVehicleReporter
    /// Reads the vehicle.
    public let deliveryVehicleManager: GMTDDeliveryVehicleManager?

    /// Does nothing: this module tells nobody when the app ends in a crash, whatever is set.
    public static func setAbnormalTerminationReportingEnabled(_ enabled: Bool) {}

    /// Starts with a context, or is `nil` when that will not do; ``init(checking:)`` says why.
    public convenience init?(driverContext: GMTDDriverContext) {
        guard let reporter = try? Self.reporter(driverContext) else { return nil }
        self.init(reporter, locations: driverContext.locations)
    }

    /// Starts with a context.
    ///
    /// - Parameter driverContext: Who drives which vehicle.
    /// - Throws: `TokenError` for an id that Fleet Engine would not accept, or `TokenClientError` for the engine's URL.
    public convenience init(checking driverContext: GMTDDriverContext) throws {
        self.init(try Self.reporter(driverContext), locations: driverContext.locations)
    }

    private init(_ reporter: DeliveryVehicleReporter, locations: (any LocationSource)?) {
        self.vehicleReporter = GMTDDeliveryVehicleReporter(reporter, locations: locations)
        self.deliveryVehicleManager = GMTDDeliveryVehicleManager(
            provider: reporter.provider, vehicle: reporter.vehicle, reporter: self.vehicleReporter)
    }

    private static func reporter(_ context: GMTDDriverContext) throws -> DeliveryVehicleReporter {
        try DeliveryVehicleReporter(
            provider: ProviderID(checking: context.providerID),
            vehicle: DeliveryVehicleID(checking: context.vehicleID),
            engine: context.engine.engine,
            tokens: DriverAuthorizationTokens(context.accessTokenProvider),
            transport: context.engine.transport,
            clock: context.engine.clock
        )
    }
}

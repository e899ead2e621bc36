// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// The driver's side of on-demand trips, in the shape of Google's Driver SDK.
@preconcurrency @MainActor public final class GMTDRidesharingDriverAPI: NSObject {
    /// Reports the vehicle.
    public let vehicleReporter: GMTDVehicleReporter

    /// Does nothing: this module tells nobody when the app ends in a crash, whatever is set.
    public static func setAbnormalTerminationReportingEnabled(_ enabled: Bool) {}

    /// Starts with a context, or is `nil` when that will not do; ``init(checking:)`` says why.
    public convenience init?(driverContext: GMTDDriverContext) {
        guard let api = try? Self.reporter(driverContext) else { return nil }
        self.init(api)
    }

    /// Starts with a context.
    ///
    /// - Parameter driverContext: Who drives which vehicle.
    /// - Throws: `TokenError` for an id that Fleet Engine would not accept, or `TokenClientError` for the engine's URL.
    public convenience init(checking driverContext: GMTDDriverContext) throws {
        self.init(try Self.reporter(driverContext))
    }

    private init(_ reporter: GMTDVehicleReporter) {
        self.vehicleReporter = reporter
    }

    private static func reporter(_ context: GMTDDriverContext) throws -> GMTDVehicleReporter {
        try GMTDVehicleReporter(context)
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Whether a vehicle takes new trips, in the shape of Google's Driver SDK.
public enum GMTDVehicleState: Int, Sendable {
    /// The vehicle gets no new trips.
    case offline
    /// The vehicle may be matched with trips.
    case online
}

/// What one report carried, in the shape of Google's Driver SDK.
public final class GMTDVehicleUpdate: NSObject, Sendable {
    /// The vehicle's state.
    public let vehicleState: GMTDVehicleState
    /// The newest location, if there was one.
    public let location: LocationFix?

    /// Makes an update, as for a listener's tests.
    public init(vehicleState: GMTDVehicleState, location: LocationFix?) {
        self.vehicleState = vehicleState
        self.location = location
    }
}

/// Hears what became of each report, on the main actor, in the shape of Google's Driver SDK.
@preconcurrency @MainActor public protocol GMTDVehicleReporterListener: NSObjectProtocol {
    /// The engine took a report.
    func vehicleReporter(_ vehicleReporter: GMTDVehicleReporter, didSucceed vehicleUpdate: GMTDVehicleUpdate)

    /// A report did not arrive, or was refused.
    ///
    /// - Parameters:
    ///   - vehicleReporter: Who sent it.
    ///   - vehicleUpdate: What it carried.
    ///   - error: An `NSError` of ``GMTDVehicleReporterErrorDomain`` with the cause under `NSUnderlyingErrorKey`.
    func vehicleReporter(
        _ vehicleReporter: GMTDVehicleReporter, didFail vehicleUpdate: GMTDVehicleUpdate, withError error: any Error)
}

extension GMTDVehicleReporterListener {
    /// Does nothing; listeners need not hear of success.
    public func vehicleReporter(_ vehicleReporter: GMTDVehicleReporter, didSucceed vehicleUpdate: GMTDVehicleUpdate) {}

    /// Does nothing; listeners need not hear of failure.
    public func vehicleReporter(
        _ vehicleReporter: GMTDVehicleReporter, didFail vehicleUpdate: GMTDVehicleUpdate, withError error: any Error
    ) {}
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Gets the vehicle, or an `NSError`, and never both; called once.
public typealias GMTDDeliveryVehicleManagerCompletionHandler =
    @MainActor @Sendable (_ vehicle: GMTDDeliveryVehicle?, _ error: (any Error)?) -> Void

/// A delivery vehicle, in the shape of Google's Driver SDK.
public final class GMTDDeliveryVehicle: NSObject, Sendable {
    /// Whom the vehicle belongs to.
    public let providerID: String
    /// The vehicle.
    public let vehicleID: String
    /// The vehicle's name, `providers/{provider}/deliveryVehicles/{vehicle}`.
    public let vehicleName: String
    /// The stops that are left.
    public let vehicleStops: [GMTDVehicleStop]?

    /// Makes a vehicle, as for an app's tests.
    public init(providerID: String, vehicleID: String, vehicleStops: [GMTDVehicleStop]?) {
        self.providerID = providerID
        self.vehicleID = vehicleID
        self.vehicleName = "providers/\(providerID)/deliveryVehicles/\(vehicleID)"
        self.vehicleStops = vehicleStops
    }
}

/// Asks the engine for the vehicle, in the shape of Google's Driver SDK.
@preconcurrency @MainActor public final class GMTDDeliveryVehicleManager: NSObject {
    private let provider: ProviderID
    private let vehicleID: DeliveryVehicleID
    private let reporter: GMTDDeliveryVehicleReporter

    init(provider: ProviderID, vehicle: DeliveryVehicleID, reporter: GMTDDeliveryVehicleReporter) {
        self.provider = provider
        self.vehicleID = vehicle
        self.reporter = reporter
    }

    /// Asks for the vehicle.
    ///
    /// - Parameter completion: Gets it.
    public func getVehicleWithCompletion(_ completion: @escaping GMTDDeliveryVehicleManagerCompletionHandler) {
        let (provider, vehicle) = (self.provider, self.vehicleID)
        self.reporter.getRemainingVehicleStops { stops, error in
            let found = stops.map {
                GMTDDeliveryVehicle(providerID: provider.value, vehicleID: vehicle.value, vehicleStops: $0)
            }
            completion(found, error)
        }
    }

    /// Asks for the vehicle.
    ///
    /// - Returns: The vehicle.
    /// - Throws: An `NSError`.
    public func vehicle() async throws -> GMTDDeliveryVehicle {
        GMTDDeliveryVehicle(
            providerID: self.provider.value, vehicleID: self.vehicleID.value,
            vehicleStops: try await self.reporter.remainingVehicleStops())
    }
}

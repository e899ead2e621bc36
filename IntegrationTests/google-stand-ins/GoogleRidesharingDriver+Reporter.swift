// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import CoreLocation
public import GoogleNavigation

/// As much of Google's module as the driver app uses beside the authorization, to check its types where it is not there.
open class GMTDDriverContext: NSObject {
    public init(
        accessTokenProvider: any GMTDAuthorization, providerID: String, vehicleID: String, navigator: GMSNavigator
    ) {}
}

open class GMTDRidesharingDriverAPI: NSObject {
    public init?(driverContext: GMTDDriverContext) {}
    public var vehicleReporter: GMTDVehicleReporter { fatalError() }
}

open class GMTDVehicleReporter: NSObject, GMSRoadSnappedLocationProviderListener {
    public var locationTrackingEnabled = false
    public var locationReportingInterval: TimeInterval = 10
    public func update(_ vehicleState: GMTDVehicleState) {}
    public func add(_ listener: any GMTDVehicleReporterListener) {}
    public func locationProvider(_ locationProvider: GMSRoadSnappedLocationProvider, didUpdate location: CLLocation) {}
}

public protocol GMTDVehicleReporterListener: NSObjectProtocol {
    func vehicleReporter(_ vehicleReporter: GMTDVehicleReporter, didSucceed vehicleUpdate: GMTDVehicleUpdate)
    func vehicleReporter(
        _ vehicleReporter: GMTDVehicleReporter, didFail vehicleUpdate: GMTDVehicleUpdate, withError error: any Error)
}

open class GMTDVehicleUpdate: NSObject {
    public var vehicleState: GMTDVehicleState { fatalError() }
    public var location: CLLocation? { fatalError() }
}

public enum GMTDVehicleState: Int, Sendable {
    case offline, online
}

public let GMTDVehicleReporterErrorDomain = "vehicle-reporter"

public enum GMTDVehicleReporterErrorCode: Int, Sendable {
    case general = 1
    case noActiveTrips, activeTripsFetchFailed, locationTrackingNotEnabled, noLastKnownLocation
}

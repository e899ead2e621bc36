// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import CoreLocation

/// As much of Google's module as the driver app uses, to check its types where it is not there.
public enum GMSNavigationServices {
    public static func createNavigationSession() -> GMSNavigationSession? { fatalError() }
}

open class GMSNavigationSession: NSObject {
    public var isStarted = false
    public var navigator: GMSNavigator? { fatalError() }
    public var roadSnappedLocationProvider: GMSRoadSnappedLocationProvider? { fatalError() }
}

open class GMSNavigator: NSObject {}

open class GMSRoadSnappedLocationProvider: NSObject {
    public var allowsBackgroundLocationUpdates = false
    public func add(_ listener: any GMSRoadSnappedLocationProviderListener) {}
    public func startUpdatingLocation() {}
    public func stopUpdatingLocation() {}
}

public protocol GMSRoadSnappedLocationProviderListener: NSObjectProtocol {
    func locationProvider(_ locationProvider: GMSRoadSnappedLocationProvider, didUpdate location: CLLocation)
}

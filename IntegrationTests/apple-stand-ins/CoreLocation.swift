// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

@_exported public import Foundation

/// As much of Apple's module as the example apps use, to check their types where it is not there.
open class CLLocationManager: NSObject {
    public weak var delegate: (any CLLocationManagerDelegate)?
    public var authorizationStatus: CLAuthorizationStatus { fatalError() }
    public func requestWhenInUseAuthorization() {}
    public func startUpdatingLocation() {}
    public func stopUpdatingLocation() {}
}

public protocol CLLocationManagerDelegate: NSObjectProtocol {
    func locationManager(_ manager: CLLocationManager, didUpdateLocations locations: [CLLocation])
    func locationManagerDidChangeAuthorization(_ manager: CLLocationManager)
}

public enum CLAuthorizationStatus: Int32, Sendable {
    case notDetermined, restricted, denied, authorizedAlways, authorizedWhenInUse
}

open class CLLocation: NSObject, @unchecked Sendable {
    public var coordinate: CLLocationCoordinate2D { fatalError() }
    public var horizontalAccuracy: Double { fatalError() }
    public var verticalAccuracy: Double { fatalError() }
    public var ellipsoidalAltitude: Double { fatalError() }
    public var course: Double { fatalError() }
    public var speed: Double { fatalError() }
    public var timestamp: Date { fatalError() }
}

public struct CLLocationCoordinate2D: Sendable {
    public var latitude: Double
    public var longitude: Double
}

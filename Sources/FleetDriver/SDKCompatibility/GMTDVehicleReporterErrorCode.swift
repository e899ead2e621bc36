// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient

/// The domain of a vehicle reporter's errors.
public let GMTDVehicleReporterErrorDomain =
    "com.google.mapsplatform.transportation.driver.vehiclereporter.ErrorDomain"

/// The codes of a vehicle reporter's errors, in the shape of Google's Driver SDK.
public enum GMTDVehicleReporterErrorCode: Int, Sendable {
    /// A report failed; the underlying error says why.
    case general = 1
    /// There are no trips to report for.
    case noActiveTrips = 2
    /// The vehicle's trips could not be read.
    case activeTripsFetchFailed = 3
    /// The vehicle cannot go online while location tracking is off.
    case locationTrackingNotEnabled = 4
    /// No location is known, or none comes any more: the source of locations ended or failed while tracking was on.
    case noLastKnownLocation = 5
}

extension GMTDVehicleReporterErrorCode {
    func error(_ message: String, cause: (any Error)? = nil) -> NSError {
        var info: [String: Any] = [NSLocalizedDescriptionKey: message]
        info[NSUnderlyingErrorKey] = cause
        return NSError(domain: GMTDVehicleReporterErrorDomain, code: self.rawValue, userInfo: info)
    }

    /// The error that a listener gets, which is the same one for every cause.
    static func updateFailed(_ cause: any Error) -> NSError {
        Self.general.error("Vehicle update failed.", cause: cause)
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import Foundation

/// The drives that come with the program.
enum BundledRoutes {
    /// The files by name.
    static let files: [(name: String, bytes: [UInt8])] = [
        ("bay-area-trip-1.gpx", PackageResources.bay_area_trip_1_gpx),
        ("bay-area-trip-2.gpx", PackageResources.bay_area_trip_2_gpx),
        ("delivery-day.gpx", PackageResources.delivery_day_gpx),
    ]

    /// The drives themselves.
    ///
    /// - Throws: `DriverError`, which no test of the bundled files ever saw.
    static func all() throws(DriverError) -> [Route] {
        try self.files.map { file throws(DriverError) in try GPXRoute.read(Data(file.bytes)) }
    }
}

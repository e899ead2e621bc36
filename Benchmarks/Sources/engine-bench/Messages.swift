// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf

/// Later than any version of the run.
private let version = Google_Protobuf_Timestamp(seconds: 4_000_000_000)

extension Maps_Fleetengine_V1_UpdateVehicleRequest {
    /// A client's vehicle reports where it is.
    ///
    /// - Parameters:
    ///   - client: The client's number.
    ///   - step: How many reports each vehicle made before: it drives to and fro on 10 km of road, 50 m for each, as one
    ///     that reports every few seconds.
    /// - Returns: The request.
    static func report(of client: Int, step: Int) -> Self {
        .with {
            $0.name = "providers/bench/vehicles/vehicle-\(client)"
            $0.vehicle.vehicleState = .online
            $0.vehicle.lastLocation.location.latitude = Road.latitude(after: step)
            $0.vehicle.lastLocation.location.longitude = Road.longitude
            $0.vehicle.lastLocation.heading = 90
            $0.updateMask.paths = ["last_location", "vehicle_state"]
        }
    }
}

extension Maps_Fleetengine_V1_GetTripRequest {
    /// A client that has everything asks for its trip.
    ///
    /// - Parameter client: The client's number.
    /// - Returns: The request.
    static func poll(of client: Int) -> Self {
        .with {
            $0.name = "providers/bench/trips/trip-\(client)"
            $0.currentRouteSegmentVersion = version
            $0.currentRouteSegmentTrafficVersion = version
            $0.remainingWaypointsRouteVersion = version
        }
    }
}

/// Where the vehicles drive.
enum Road {
    static let longitude = -122.073884

    static func latitude(after step: Int) -> Double { 37.419645 + Double(abs(step % 400 - 200)) * 0.00045 }
}

/// Messages for a client in another process, each with its length before it as on the wire.
struct WireMessages {
    private(set) var bytes: [UInt8] = []

    /// - Parameters:
    ///   - kind: `updates`, some of each vehicle, or `polls`.
    ///   - clients: How many clients there are.
    /// - Throws: When a message cannot be serialized.
    init?(of kind: String, clients: Int) throws {
        switch kind {
        case "updates":
            for step in 0..<40 {
                for client in 0..<clients {
                    try self.append(Maps_Fleetengine_V1_UpdateVehicleRequest.report(of: client, step: step))
                }
            }
        case "polls":
            for client in 0..<clients { try self.append(Maps_Fleetengine_V1_GetTripRequest.poll(of: client)) }
        default: return nil
        }
    }

    private mutating func append(_ message: some Message) throws {
        let message: [UInt8] = try message.serializedBytes()
        self.bytes += [0] + withUnsafeBytes(of: UInt32(message.count).bigEndian) { [UInt8]($0) } + message
    }
}

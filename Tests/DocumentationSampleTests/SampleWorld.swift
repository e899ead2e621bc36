// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

/// A token server in every known contract, and an engine that lets only the right token in, both on this machine.
struct SampleWorld: Sendable {
    let server: LoopbackHTTPServer
    private let paths: Locked<[String]>

    static func vehicleToken(_ id: String) throws -> String {
        TestTokens.token(for: .driver(try VehicleID(checking: id))).compactSerialization
    }

    static func tripToken(_ id: String) throws -> String {
        TestTokens.token(for: .consumer(try TripID(checking: id))).compactSerialization
    }

    static func deliveryToken(_ id: String) throws -> String {
        TestTokens.token(for: .deliveryDriver(try DeliveryVehicleID(checking: id))).compactSerialization
    }

    init(life: Duration = .seconds(3600)) throws {
        let paths = Locked<[String]>([])
        let vehicle = try Self.vehicleToken("veh-3")
        let trip = try Self.tripToken("trip-7")
        let van = try Self.deliveryToken("van-1")
        self.paths = paths
        self.server = try LoopbackHTTPServer { request in
            paths.withLock { $0.append(request.path) }
            let expiry = Int(Date().timeIntervalSince1970) + Int(life.components.seconds)
            let bearer = request.headers["authorization"]
            switch (request.method, request.path) {
            case ("GET", "/vehicle-token"):
                return (200, #"{"VEHICLE_TOKEN_KEY":"\#(vehicle)","TOKEN_EXPIRATION":\#(expiry)}"#)
            case ("GET", "/trip-token"):
                return (200, #"{"TRIP_TOKEN_KEY":"\#(trip)","TOKEN_EXPIRATION":\#(expiry)}"#)
            case ("GET", "/token/driver/veh-3"):
                return (200, #"{"jwt":"\#(vehicle)","creationTimestamp":0,"expirationTimestamp":\#(expiry * 1000)}"#)
            case ("GET", "/token/consumer/trip-7"):
                return (200, #"{"jwt":"\#(trip)","creationTimestamp":0,"expirationTimestamp":\#(expiry * 1000)}"#)
            case ("GET", "/token/delivery_driver/van-1"):
                return (
                    200,
                    #"{"token":"\#(van)","creation_timestamp_ms":0,"expiration_timestamp_ms":\#(expiry * 1000)}"#
                )
            case ("PUT", "/v1/providers/acme/vehicles/veh-3"):
                return bearer == "Bearer \(vehicle)" ? (200, "{}") : (403, "{}")
            case ("GET", "/v1/providers/acme/trips/trip-7"):
                return bearer == "Bearer \(trip)" ? (200, #"{"tripStatus":"COMPLETE"}"#) : (403, "{}")
            default:
                return (404, "{}")
            }
        }
    }

    /// How often a path was asked for.
    func count(of path: String) -> Int {
        self.paths.withLock { $0.filter { $0 == path }.count }
    }

    func address(_ path: String) -> String { self.server.url.absoluteString + path }
}

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
    let server: LoopbackServer

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
        let vehicle = try Self.vehicleToken("veh-3")
        let trip = try Self.tripToken("trip-7")
        let van = try Self.deliveryToken("van-1")
        self.server = try LoopbackServer { request in
            let expiry = Int(Date().timeIntervalSince1970) + Int(life.components.seconds)
            let bearer = request.header("Authorization")
            func answer(_ status: Int, _ json: String) -> LoopbackServer.Answer {
                .response(HTTPTransportResponse(status: status, body: Data(json.utf8)))
            }
            switch (request.method, Self.path(of: request)) {
            case ("GET", "/vehicle-token"):
                return answer(200, #"{"VEHICLE_TOKEN_KEY":"\#(vehicle)","TOKEN_EXPIRATION":\#(expiry)}"#)
            case ("GET", "/trip-token"):
                return answer(200, #"{"TRIP_TOKEN_KEY":"\#(trip)","TOKEN_EXPIRATION":\#(expiry)}"#)
            case ("GET", "/token/driver/veh-3"):
                return answer(
                    200, #"{"jwt":"\#(vehicle)","creationTimestamp":0,"expirationTimestamp":\#(expiry * 1000)}"#)
            case ("GET", "/token/consumer/trip-7"):
                return answer(200, #"{"jwt":"\#(trip)","creationTimestamp":0,"expirationTimestamp":\#(expiry * 1000)}"#)
            case ("GET", "/token/delivery_driver/van-1"):
                return answer(
                    200,
                    #"{"token":"\#(van)","creation_timestamp_ms":0,"expiration_timestamp_ms":\#(expiry * 1000)}"#
                )
            case ("PUT", "/v1/providers/acme/vehicles/veh-3"):
                return bearer == "Bearer \(vehicle)"
                    ? answer(200, #"{"name":"providers/acme/vehicles/veh-3"}"#) : answer(403, "{}")
            case ("GET", "/v1/providers/acme/trips/trip-7"):
                return bearer == "Bearer \(trip)"
                    ? answer(200, #"{"name":"providers/acme/trips/trip-7","tripStatus":"COMPLETE"}"#)
                    : answer(403, "{}")
            default:
                return answer(404, "{}")
            }
        }
    }

    /// How often a path was asked for.
    func count(of path: String) -> Int {
        self.server.requests.count { Self.path(of: $0) == path }
    }

    private static func path(of request: LoopbackServer.Request) -> String {
        String(request.target.prefix { $0 != "?" })
    }

    func address(_ path: String) -> String { self.server.url.absoluteString + path }
}

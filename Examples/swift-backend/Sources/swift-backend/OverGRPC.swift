// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetSigning
import FleetTokens
import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2Posix

/// Makes a vehicle and a trip, and reads the trip back, over gRPC.
struct OverGRPC {
    let signers: RoleSigners
    /// To the service: `.dns(host: "fleetengine.googleapis.com")` with the transport security `.tls`.
    let port: Int

    func run(_ order: Order) async throws -> Trip {
        let transport = try HTTP2ClientTransport.Posix(
            target: .ipv4(address: "127.0.0.1", port: self.port), transportSecurity: .plaintext,
            serviceConfig: FleetTokenInterceptor.sendingOnceMore)
        // Every call gets the token of the role `server`, signed once for all of them.
        let tokens = FleetTokenInterceptor(MintedTokenSource(self.signers))
        return try await withGRPCClient(transport: transport, interceptors: [tokens]) { client in
            let vehicles = Maps_Fleetengine_V1_VehicleService.Client(wrapping: client)
            let trips = Maps_Fleetengine_V1_TripService.Client(wrapping: client)
            _ = try await vehicles.createVehicle(
                .with {
                    $0.parent = "providers/\(order.provider)"
                    $0.vehicleID = order.vehicle.value
                    $0.vehicle = order.newVehicle
                })
            _ = try await trips.createTrip(
                .with {
                    $0.parent = "providers/\(order.provider)"
                    $0.tripID = order.trip.value
                    $0.trip = order.newTrip
                })
            // As the customer's phone would: with a token that reaches this trip and nothing else. The interceptor
            // leaves a call alone that brings its own.
            let minter = try self.signers.minter(for: .consumer)
            let token = try await minter.mint(TokenType.consumer(order.trip).claims, at: .now).token
            return try await trips.getTrip(
                .with { $0.name = "providers/\(order.provider)/trips/\(order.trip)" },
                metadata: ["authorization": .string(token.authorizationHeader)])
        }
    }
}

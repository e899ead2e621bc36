// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetSigning
import FleetTokens
import SwiftProtobuf

/// Makes a vehicle and a trip, and reads the trip back, over REST.
struct OverREST {
    private struct Refused: Error, CustomStringConvertible {
        let status: Int
        let body: String

        var description: String { "the engine answered \(self.status): \(self.body)" }
    }

    private let engine: FleetEngineHTTPClient

    /// Calls an engine.
    ///
    /// - Parameters:
    ///   - signers: The signer of each role.
    ///   - address: Without it, the service.
    /// - Throws: `FleetEngineCallError` for an address that tokens must not be sent to.
    init(signers: RoleSigners, address: String = "https://fleetengine.googleapis.com") throws {
        // A trip is read with a token that reaches that trip and nothing else; the rest takes the server's.
        let tokens = MintedTokenSource(signers) { method, resource in
            if method == .getTrip, case .trip(_, let id)? = resource { return .consumer(id) }
            return .server(for: method)
        }
        self.engine = try FleetEngineHTTPClient(engine: address, tokens: tokens)
    }

    func run(_ order: Order) async throws -> Trip {
        let vehicle = ResourceName.vehicle(order.provider, order.vehicle)
        let trip = ResourceName.trip(order.provider, order.trip)
        let _: Vehicle = try await self.call(.createVehicle, on: vehicle, sending: order.newVehicle)
        let _: Trip = try await self.call(.createTrip, on: trip, sending: order.newTrip)
        return try await self.call(.getTrip, on: trip)
    }

    private func call<Answer: Message>(
        _ method: FleetMethod, on resource: ResourceName, sending message: (any Message)? = nil
    ) async throws -> Answer {
        let response = try await self.engine.execute(method, on: resource, body: message?.jsonUTF8Bytes())
        let body = Array(try await response.body.collect(upTo: 1 << 20).readableBytesView)
        guard response.status == .ok else {
            throw Refused(status: Int(response.status.code), body: String(decoding: body, as: UTF8.self))
        }
        // The service adds fields over time, which older code passes over.
        var options = JSONDecodingOptions()
        options.ignoreUnknownFields = true
        return try Answer(jsonUTF8Bytes: body, options: options)
    }
}

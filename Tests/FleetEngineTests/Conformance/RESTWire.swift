// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import SwiftProtobuf

@testable import FleetEngine

/// A REST client over a real socket; it writes requests from the published rules, not from the adapter's table.
struct RESTWire: WireClient {
    let client: any TestClientProtocol

    static func withClient<Result: Sendable>(
        of engine: Engine, _ body: @escaping @Sendable (RESTWire) async throws -> Result
    ) async throws -> Result {
        let router = Router()
        EngineRoutes(engine: engine).add(to: router)
        return try await Application(router: router).test(.live) { client in
            try await body(RESTWire(client: client))
        }
    }

    func send(_ call: WireCall, authorization: String?) async throws -> Data {
        switch call {
        case .createVehicle(let it):
            try await self.send(
                .post, "\(it.parent)/vehicles", ["vehicleId": it.vehicleID], it.hasVehicle ? it.vehicle : nil,
                authorization, Vehicle.self)
        case .getVehicle(let it): try await self.send(.get, it.name, [:], nil, authorization, Vehicle.self)
        case .updateVehicle(let it):
            try await self.send(
                .put, it.name, ["updateMask": it.updateMask.paths.joined(separator: ",")], it.vehicle, authorization,
                Vehicle.self)
        case .updateVehicleAttributes(let it):
            try await self.send(
                .post, "\(it.name):updateAttributes", [:], it, authorization, UpdateVehicleAttributes.Response.self)
        case .searchVehicles(let it):
            try await self.send(
                .post, "\(it.parent)/vehicles:search", [:], it, authorization, SearchVehicles.Response.self)
        case .createTrip(let it):
            try await self.send(
                .post, "\(it.parent)/trips", ["tripId": it.tripID], it.trip, authorization, Trip.self)
        case .getTrip(let it):
            try await self.send(
                .get, it.name, it.view == .unspecified ? [:] : ["view": "\(it.view.rawValue)"], nil, authorization,
                Trip.self)
        case .updateTrip(let it):
            try await self.send(
                .put, it.name, ["updateMask": it.updateMask.paths.joined(separator: ",")], it.trip, authorization,
                Trip.self)
        case .deleteVehicle(let it):
            try await self.send(.delete, it.name, [:], nil, authorization, Google_Protobuf_Empty.self)
        case .searchTrips(let it):
            try await self.send(.post, "\(it.parent)/trips:search", [:], it, authorization, Google_Protobuf_Empty.self)
        case .getTask(let it):
            try await self.send(.get, it.name, [:], nil, authorization, Google_Protobuf_Empty.self)
        }
    }

    private func send<Answer: Message>(
        _ verb: HTTPRequest.Method, _ name: String, _ query: [String: String], _ body: (any Message)?,
        _ authorization: String?, _: Answer.Type
    ) async throws -> Data {
        let path = name.split(separator: "/", omittingEmptySubsequences: false).map(Self.encode).joined(separator: "/")
        let query = query.map { "\($0)=\(Self.encode($1[...]))" }.joined(separator: "&")
        var headers: HTTPFields = [.contentType: "application/json"]
        headers[.authorization] = authorization
        let response = try await self.client.execute(
            uri: "/v1/\(path)" + (query.isEmpty ? "" : "?\(query)"), method: verb, headers: headers,
            body: try body.map { ByteBuffer(bytes: try $0.jsonUTF8Bytes() as [UInt8]) }
        )
        guard response.status == .ok else { throw try Self.failure(response) }
        return try Answer(jsonUTF8Bytes: Data(response.body.readableBytesView)).serializedBytes()
    }

    static func failure(_ response: TestResponse) throws -> WireFailure {
        let error = try JSONDecoder().decode(Envelope.self, from: Data(response.body.readableBytesView)).error
        guard error.code == response.status.code, let info = error.details.first,
            info.type == "type.googleapis.com/google.rpc.ErrorInfo", info.domain == "fleetengine.googleapis.com"
        else { throw Malformed() }
        return WireFailure(status: error.status, reason: info.reason, message: error.message)
    }

    struct Malformed: Error {}

    private static func encode(_ segment: Substring) -> String {
        segment.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(["-", ".", "_", "~", ":"])) ?? ""
    }

    private struct Envelope: Decodable {
        struct Failure: Decodable {
            let code: Int
            let message: String
            let status: String
            let details: [Info]
        }
        struct Info: Decodable {
            let type: String
            let reason: String
            let domain: String
            let metadata: [String: String]
            enum CodingKeys: String, CodingKey {
                case type = "@type"
                case reason, domain, metadata
            }
        }
        let error: Failure
    }
}

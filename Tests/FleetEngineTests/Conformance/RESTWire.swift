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
        func send<Call: EngineCall>(
            _ verb: HTTPRequest.Method, _ name: String, _ query: [String: String], _ body: (any Message)?,
            _: Call.Type
        ) async throws -> Data {
            try await self.send(verb, name, query, body, authorization, Call.Response.self)
        }
        return switch call {
        case .createVehicle(let it):
            try await send(
                .post, "\(it.parent)/vehicles", ["vehicleId": it.vehicleID], it.hasVehicle ? it.vehicle : nil,
                CreateVehicle.self)
        case .getVehicle(let it):
            try await send(.get, it.name, [:], nil, GetVehicle.self)
        case .updateVehicle(let it):
            try await send(.put, it.name, Self.mask(it.updateMask), it.vehicle, UpdateVehicle.self)
        case .updateVehicleAttributes(let it):
            try await send(.post, "\(it.name):updateAttributes", [:], it, UpdateVehicleAttributes.self)
        case .deleteVehicle(let it):
            try await send(.delete, it.name, [:], nil, DeleteVehicle.self)
        case .listVehicles(let it):
            try await send(.get, "\(it.parent)/vehicles", Self.page(it, filter: it.filter), nil, ListVehicles.self)
        case .searchVehicles(let it):
            try await send(.post, "\(it.parent)/vehicles:search", [:], it, SearchVehicles.self)
        case .createTrip(let it):
            try await send(.post, "\(it.parent)/trips", ["tripId": it.tripID], it.trip, CreateTrip.self)
        case .getTrip(let it):
            try await send(
                .get, it.name, it.view == .unspecified ? [:] : ["view": "\(it.view.rawValue)"], nil, GetTrip.self)
        case .updateTrip(let it):
            try await send(.put, it.name, Self.mask(it.updateMask), it.trip, UpdateTrip.self)
        case .deleteTrip(let it):
            try await send(.delete, it.name, [:], nil, DeleteTrip.self)
        case .searchTrips(let it):
            try await send(.post, "\(it.parent)/trips:search", [:], it, SearchTrips.self)
        case .reportBillableTrip(let it):
            try await send(.post, "\(it.name):report", [:], it, ReportBillableTrip.self)
        case .createDeliveryVehicle(let it):
            try await send(
                .post, "\(it.parent)/deliveryVehicles", ["deliveryVehicleId": it.deliveryVehicleID], it.deliveryVehicle,
                CreateDeliveryVehicle.self)
        case .getDeliveryVehicle(let it):
            try await send(.get, it.name, [:], nil, GetDeliveryVehicle.self)
        case .updateDeliveryVehicle(let it):
            try await send(
                .patch, it.deliveryVehicle.name, Self.mask(it.updateMask), it.deliveryVehicle,
                UpdateDeliveryVehicle.self)
        case .deleteDeliveryVehicle(let it):
            try await send(.delete, it.name, [:], nil, DeleteDeliveryVehicle.self)
        case .listDeliveryVehicles(let it):
            try await send(
                .get, "\(it.parent)/deliveryVehicles", Self.page(it, filter: it.filter), nil, ListDeliveryVehicles.self)
        case .createTask(let it):
            try await send(.post, "\(it.parent)/tasks", ["taskId": it.taskID], it.task, CreateTask.self)
        case .batchCreateTasks(let it):
            try await send(.post, "\(it.parent)/tasks:batchCreate", [:], it, BatchCreateTasks.self)
        case .getTask(let it):
            try await send(.get, it.name, [:], nil, GetTask.self)
        case .updateTask(let it):
            try await send(.patch, it.task.name, Self.mask(it.updateMask), it.task, UpdateTask.self)
        case .deleteTask(let it):
            try await send(.delete, it.name, [:], nil, DeleteTask.self)
        case .listTasks(let it):
            try await send(.get, "\(it.parent)/tasks", Self.page(it, filter: it.filter), nil, ListTasks.self)
        case .getTaskTrackingInfo(let it):
            try await send(.get, it.name, [:], nil, GetTaskTrackingInfo.self)
        }
    }

    private static func mask(_ mask: Google_Protobuf_FieldMask) -> [String: String] {
        ["updateMask": mask.paths.joined(separator: ",")]
    }

    private static func page(_ request: some PagedRequest, filter: String) -> [String: String] {
        ["pageSize": "\(request.pageSize)", "pageToken": request.pageToken, "filter": filter].filter { !$1.isEmpty }
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
        guard error.code == response.status.code, Self.published[error.status] == error.code,
            let info = error.details.first,
            info.type == "type.googleapis.com/google.rpc.ErrorInfo", info.domain == "fleetengine.googleapis.com"
        else { throw Malformed() }
        return WireFailure(status: error.status, reason: info.reason, message: error.message)
    }

    struct Malformed: Error {}

    /// The HTTP code of each status word, from the published table.
    private static let published = [
        "INVALID_ARGUMENT": 400, "FAILED_PRECONDITION": 400, "UNAUTHENTICATED": 401, "PERMISSION_DENIED": 403,
        "NOT_FOUND": 404, "ALREADY_EXISTS": 409, "UNAVAILABLE": 503,
    ]

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

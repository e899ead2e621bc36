// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import GRPCProtobuf
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import SwiftProtobuf

@testable import FleetEngine

/// A call as a client makes it, over whichever adapter.
enum WireCall: Sendable {
    case createVehicle(CreateVehicle.Request)
    case getVehicle(GetVehicle.Request)
    case updateVehicle(UpdateVehicle.Request)
    case updateVehicleAttributes(UpdateVehicleAttributes.Request)
    case deleteVehicle(DeleteVehicle.Request)
    case listVehicles(ListVehicles.Request)
    case searchVehicles(SearchVehicles.Request)
    case createTrip(CreateTrip.Request)
    case getTrip(GetTrip.Request)
    case updateTrip(UpdateTrip.Request)
    case deleteTrip(DeleteTrip.Request)
    case searchTrips(SearchTrips.Request)
    case reportBillableTrip(ReportBillableTrip.Request)
    case createDeliveryVehicle(CreateDeliveryVehicle.Request)
    case getDeliveryVehicle(GetDeliveryVehicle.Request)
    case updateDeliveryVehicle(UpdateDeliveryVehicle.Request)
    case deleteDeliveryVehicle(DeleteDeliveryVehicle.Request)
    case listDeliveryVehicles(ListDeliveryVehicles.Request)
    case createTask(CreateTask.Request)
    case batchCreateTasks(BatchCreateTasks.Request)
    case getTask(GetTask.Request)
    case updateTask(UpdateTask.Request)
    case deleteTask(DeleteTask.Request)
    case listTasks(ListTasks.Request)
    case getTaskTrackingInfo(GetTaskTrackingInfo.Request)
}

/// What a client learns of a failed call.
struct WireFailure: Error, Hashable {
    var status: String
    var reason: String
    var message: String
}

/// A client of one adapter.
protocol WireClient: Sendable {
    /// Makes a call and gives the answer's binary form.
    func send(_ call: WireCall, authorization: String?) async throws -> Data
}

extension WireClient {
    /// Makes a call with a token, and reads the answer.
    func call<Answer: Message>(_ call: WireCall, token: String? = serverToken) async throws -> Answer {
        try Answer(serializedBytes: await self.send(call, authorization: token.map { "Bearer \($0)" }))
    }

    /// Makes a call that must fail.
    func failure(of call: WireCall, authorization: String?) async throws -> WireFailure? {
        do {
            _ = try await self.send(call, authorization: authorization)
            return nil
        } catch let failure as WireFailure {
            return failure
        }
    }
}

/// The adapters and stores that must answer alike.
struct WireSetup: Sendable, CustomStringConvertible {
    enum Adapter: String, CaseIterable { case grpc, rest }

    let adapter: Adapter
    let store: StoreKind

    var description: String { "\(self.adapter.rawValue) over \(self.store)" }

    static let all = Adapter.allCases.flatMap { adapter in
        StoreKind.allCases.map { Self(adapter: adapter, store: $0) }
    }

    /// Serves an empty engine on loopback for as long as the body runs.
    func withClient<Result: Sendable>(
        _ body: @escaping @Sendable (any WireClient) async throws -> Result
    ) async throws -> Result {
        try await self.store.withStore { store in
            let clock = TestClock(TestClock.start)
            return try await self.withClient(
                of: Engine(store: store, verifier: TextVerifier(), now: { clock.now }), body)
        }
    }

    /// Serves an engine on loopback for as long as the body runs.
    func withClient<Result: Sendable>(
        of engine: Engine, _ body: @escaping @Sendable (any WireClient) async throws -> Result
    ) async throws -> Result {
        switch self.adapter {
        case .grpc: try await GRPCWire.withClient(of: engine, body)
        case .rest: try await RESTWire.withClient(of: engine, body)
        }
    }
}

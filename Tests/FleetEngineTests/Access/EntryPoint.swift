// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import GRPCCore
import GRPCProtobuf
import Hummingbird
import HummingbirdTesting
import SwiftProtobuf

@testable import FleetEngine

/// Where a call enters the engine without a socket: at the engine itself, or at an adapter.
enum EntryPoint: String, CaseIterable, CustomStringConvertible {
    case engine, grpc, rest

    var description: String { self.rawValue }

    /// Hands over a client.
    func withClient(
        of engine: Engine, _ body: @escaping @Sendable (any WireClient) async throws -> Void
    ) async throws {
        switch self {
        case .engine: try await body(DirectWire(engine: engine))
        case .grpc: try await body(GRPCAdapterWire(adapter: GRPCAdapter(engine: engine)))
        case .rest:
            let router = Router()
            EngineRoutes(engine: engine).add(to: router)
            try await Application(router: router).test(.router) { try await body(RESTWire(client: $0)) }
        }
    }
}

/// A client of the gRPC adapter that hands it bytes and takes its bytes.
struct GRPCAdapterWire: WireClient {
    let adapter: GRPCAdapter

    private struct NoMethod: Error {}

    func send(_ call: WireCall, authorization: String?) async throws -> Data {
        guard let (label, value) = Mirror(reflecting: call).children.first, let label,
            let method = FleetMethod(named: label.prefix(1).uppercased() + label.dropFirst()),
            let message = value as? any Message, let entry = RPCEntry.all[method]
        else { throw NoMethod() }
        do {
            let metadata: Metadata = authorization.map { ["authorization": .string($0)] } ?? [:]
            return Data(try await entry.call(self.adapter, metadata, try message.serializedBytes()))
        } catch let status as GoogleRPCStatus {
            throw WireFailure(
                status: GRPCWire.word(status.code),
                reason: status.details.compactMap(\.errorInfo).first?.reason ?? "", message: status.message)
        }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import GRPCCore
import GRPCProtobuf
import SwiftProtobuf

/// Carries gRPC requests to the engine's calls and their answers back.
struct GRPCAdapter: Sendable {
    let engine: Engine

    /// Runs a call that looks.
    func perform<Call: ReadingCall>(
        _ call: Call.Type, _ request: ServerRequest<Call.Request>
    ) async throws -> ServerResponse<Call.Response> {
        try await Self.answer(request) { (message, token) throws(EngineError) in
            try await self.engine.perform(call, message, token: token)
        }
    }

    /// Runs a call that changes something.
    func perform<Call: WritingCall>(
        _ call: Call.Type, _ request: ServerRequest<Call.Request>
    ) async throws -> ServerResponse<Call.Response> {
        try await Self.answer(request) { (message, token) throws(EngineError) in
            try await self.engine.perform(call, message, token: token)
        }
    }

    private static func answer<Request, Response>(
        _ request: ServerRequest<Request>,
        _ perform: (Request, String?) async throws(EngineError) -> Response
    ) async throws -> ServerResponse<Response> {
        do throws(EngineError) {
            let token = try self.token(in: request.metadata)
            return ServerResponse(message: try await perform(request.message, token))
        } catch {
            throw self.status(of: error)
        }
    }

    private static func token(in metadata: Metadata) throws(EngineError) -> String? {
        var values: [String] = []
        for value in metadata["authorization"] {
            guard case .string(let text) = value else {
                throw BearerToken.malformed(
                    "The authorization metadata is binary.", fix: "Send Bearer and the token as text.")
            }
            values.append(text)
        }
        return try BearerToken.read(values)
    }

    /// The error as gRPC carries it, with `google.rpc.ErrorInfo` in `grpc-status-details-bin`.
    private static func status(of error: EngineError) -> GoogleRPCStatus {
        GoogleRPCStatus(
            code: error.code.status.grpc,
            message: error.message,
            details: .errorInfo(reason: error.reason, domain: EngineError.domain, metadata: error.metadata)
        )
    }
}

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

    /// Runs a call.
    func perform<Call: EngineCall>(
        _ call: Call.Type, _ request: ServerRequest<Call.Request>
    ) async throws -> ServerResponse<Call.Response> {
        let remarks = self.engine.makeRemarks()
        do throws(EngineError) {
            let token = try Self.token(in: request.metadata)
            let message = try await self.performWhileWanted(call, request.message, token, remarks)
            return ServerResponse(message: message, trailingMetadata: remarks?.metadata ?? [:])
        } catch {
            let status = Self.status(of: error)
            guard let remarks else { throw status }
            throw RemarkedStatus(status: status, remarks: remarks.metadata)
        }
    }

    /// Runs a call for as long as its client waits: once the client gives it up, or its deadline passes, the call waits for
    /// nothing more, and begins nothing more.
    private func performWhileWanted<Call: EngineCall>(
        _ call: Call.Type, _ message: Call.Request, _ token: String?, _ remarks: CallRemarks?
    ) async throws(EngineError) -> Call.Response {
        // The library tells of the end, and cancels no task.
        let work = Task.begun { () async -> Result<Call.Response, EngineError> in
            do throws(EngineError) {
                return .success(
                    try await self.engine.perform(call, message, token: token, remarks: remarks, takesPagesOnly: true))
            } catch {
                return .failure(error)
            }
        }
        return try await withTaskCancellationHandler {
            await withRPCCancellationHandler {
                await work.value
            } onCancelRPC: {
                work.cancel()
            }
        } onCancel: {
            work.cancel()
        }.get()
    }

    /// Whether a call carries a good token.
    func knows(_ metadata: Metadata) async -> Bool {
        guard let token = try? Self.token(in: metadata) else { return false }
        return await self.engine.isGood(token)
    }

    /// The limit of fields that a message exceeds; `nil` where it does not.
    ///
    /// More than a stranger may send are taken from who carries a good token.
    func fieldLimit(exceededBy message: some GRPCContiguousBytes, _ metadata: Metadata) async -> Int? {
        func exceeds(_ limit: Int) -> Bool {
            // Most have fewer bytes than fields are allowed, and are not copied.
            message.withUnsafeBytes { $0.count > limit && FieldCount.exceeds(limit, inMessage: Array($0)) }
        }
        guard exceeds(FieldCount.maximumOfStrangers) else { return nil }
        guard await self.knows(metadata) else { return FieldCount.maximumOfStrangers }
        return exceeds(FieldCount.maximum) ? FieldCount.maximum : nil
    }

    /// Why a call that carries no good token is refused before it is read.
    func refusal(of method: FleetMethod, _ metadata: Metadata) async -> any Error {
        let tooMany = EngineError(
            code: .unavailable, reason: "TOO_MANY_CALLS",
            message: "Too many calls without a good token are under way; call again.")
        return await self.refusal(of: method, metadata, otherwise: Self.status(of: tooMany))
    }

    /// Why a call that is not read is refused for its token; another error where the token's key has become known.
    func refusal(of method: FleetMethod, _ metadata: Metadata, otherwise other: any Error) async -> any Error {
        do throws(EngineError) {
            try await self.engine.authenticate(Self.token(in: metadata), for: method, of: "", isUnread: true)
            return other
        } catch {
            return Self.status(of: error)
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
    static func status(of error: EngineError) -> GoogleRPCStatus {
        GoogleRPCStatus(
            code: error.code.status.grpc,
            message: error.message,
            details: .errorInfo(reason: error.reason, domain: EngineError.domain, metadata: error.metadata)
        )
    }
}

extension Task where Failure == Never {
    /// Begins on the caller's thread where the system can do so: what waits for nothing then changes threads for nothing.
    fileprivate static func begun(_ operation: sending @escaping @isolated(any) () async -> Success) -> Self {
        if #available(macOS 26, iOS 26, *) { .immediate(operation: operation) } else { Self(operation: operation) }
    }
}

/// A status of the engine's own with remarks beside it; no `RPCError`, which is what the library throws.
private struct RemarkedStatus: Error, RPCErrorConvertible {
    let status: GoogleRPCStatus
    let remarks: Metadata

    var rpcErrorCode: RPCError.Code { self.status.rpcErrorCode }
    var rpcErrorMessage: String { self.status.rpcErrorMessage }
    var rpcErrorMetadata: Metadata { self.status.rpcErrorMetadata.merging(self.remarks) }
}

extension CallRemarks {
    /// The remarks as metadata.
    fileprivate var metadata: Metadata {
        self.fields.reduce(into: [:]) { metadata, field in metadata.addString(field.value, forKey: field.name) }
    }
}

extension Metadata {
    /// The metadata with all values of another behind its own.
    fileprivate func merging(_ other: Metadata) -> Metadata {
        var merged = self
        merged.add(contentsOf: other)
        return merged
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import GRPCCore

/// Bounds the memory that callers without a good token can take: the bodies of few of their calls are waited for at once.
///
/// These are read to the end, so that what they were for can be told; any more are refused by their metadata alone, and
/// so are batches of tasks, which may be far longer than other requests. One whose message cannot be read is refused for
/// its token, too, which comes before what it says, and a known caller's in words of the engine. Calls that need no token
/// are bounded by ``ArrivingRequest``.
struct StrangerLimit: ServerInterceptor {
    /// How many calls without a good token are read at once.
    static let maximumCalls = 32

    private let adapter: GRPCAdapter
    private let places = CallPlaces(maximumCalls)

    init(adapter: GRPCAdapter) {
        self.adapter = adapter
    }

    @concurrent
    func intercept<Input: Sendable, Output: Sendable>(
        request: StreamingServerRequest<Input>, context: ServerContext,
        next:
            @concurrent @Sendable (
                StreamingServerRequest<Input>, ServerContext
            ) async throws -> StreamingServerResponse<Output>
    ) async throws -> StreamingServerResponse<Output> {
        guard let method = FleetMethod(rawValue: context.descriptor.fullyQualifiedMethod) else {
            return try await next(request, context)
        }
        guard await !self.adapter.knows(request.metadata) else {
            do {
                return try await next(request, context)
            } catch let error as RPCError {
                throw Self.unread(method, error)
            }
        }
        guard method != .batchCreateTasks, self.places.take() else {
            throw await self.adapter.refusal(of: method, request.metadata)
        }
        defer { self.places.giveBack() }
        do {
            return try await next(request, context)
        } catch let error as RPCError {
            // The library's, so the call was not read; the engine's refusals are of other types.
            throw await self.adapter.refusal(of: method, request.metadata, otherwise: Self.unread(method, error))
        }
    }

    /// What a call is told that was not read, with the details of every refusal, in place of the library's words.
    private static func unread(_ method: FleetMethod, _ error: RPCError) -> any Error {
        // Bytes that are no message, or none, or more than one; what else goes wrong has its own words.
        guard error.code == .invalidArgument || error.code == .internalError else { return error }
        return GRPCAdapter.status(
            of: .invalidArgument(
                "The call does not carry one message that is a request of \(method.name); send that in binary."))
    }
}

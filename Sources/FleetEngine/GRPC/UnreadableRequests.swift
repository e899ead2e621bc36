// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import GRPCCore

/// Tells whose request cannot be read so with the details of every refusal, in place of the library's words.
///
/// It stands outside of ``StrangerLimit``, which tells who has no good token that instead.
struct UnreadableRequests: ServerInterceptor {
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
        do {
            return try await next(request, context)
        } catch let error as RPCError
            where (error.code == .invalidArgument || error.code == .internalError) && error.metadata.isEmpty
        {
            // The library's: bytes that are no message, or none, or more than one; the engine's have details.
            throw GRPCAdapter.status(
                of: .invalidArgument(
                    "The call does not carry one message that is a request of \(method.name); send that in binary."))
        }
    }
}

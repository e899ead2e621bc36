// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import GRPCCore

/// Refuses messages of more fields than their method takes before anything is made of them, see ``FieldCount``.
struct CountedTransport<Base: ServerTransport>: ServerTransport {
    typealias Bytes = Base.Bytes

    let base: Base

    func configure(context: GRPCServerContext) { self.base.configure(context: context) }

    func beginGracefulShutdown() { self.base.beginGracefulShutdown() }

    @concurrent
    func listen(
        streamHandler: @escaping @concurrent @Sendable (RPCStream<Inbound, Outbound>, ServerContext) async -> Void
    ) async throws {
        try await self.base.listen { stream, context in
            guard let method = FleetMethod(rawValue: context.descriptor.fullyQualifiedMethod) else {
                return await streamHandler(stream, context)
            }
            let parts = stream.inbound.map { part in
                if case .message(let bytes) = part, Self.isTooMuch(bytes, for: method) {
                    let limit = method.maximumRequestFields
                    throw RPCError(
                        GRPCAdapter.status(of: .beyond(limit, "fields", code: .resourceExhausted)))
                }
                return part
            }
            await streamHandler(
                RPCStream(
                    descriptor: stream.descriptor, inbound: RPCAsyncSequence(wrapping: parts),
                    outbound: stream.outbound),
                context)
        }
    }

    private static func isTooMuch(_ bytes: Bytes, for method: FleetMethod) -> Bool {
        let limit = method.maximumRequestFields
        // Most have fewer bytes than fields are allowed, and are not copied.
        return bytes.withUnsafeBytes { $0.count > limit && FieldCount.exceeds(limit, inMessage: Array($0)) }
    }
}

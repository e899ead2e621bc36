// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import GRPCCore

/// Refuses messages of more fields than are taken before anything is made of them, see ``FieldCount``.
struct CountedTransport<Base: ServerTransport>: ServerTransport {
    typealias Bytes = Base.Bytes

    let base: Base
    let adapter: GRPCAdapter

    func configure(context: GRPCServerContext) { self.base.configure(context: context) }

    func beginGracefulShutdown() { self.base.beginGracefulShutdown() }

    @concurrent
    func listen(
        streamHandler: @escaping @concurrent @Sendable (RPCStream<Inbound, Outbound>, ServerContext) async -> Void
    ) async throws {
        try await self.base.listen { stream, context in
            guard FleetMethod(rawValue: context.descriptor.fullyQualifiedMethod) != nil else {
                return await streamHandler(stream, context)
            }
            let metadata = Locked(Metadata())
            let parts = stream.inbound.map { [adapter] part in
                switch part {
                case .metadata(let sent): metadata.withLock { $0 = sent }
                case .message(let bytes):
                    if let limit = await adapter.fieldLimit(exceededBy: bytes, metadata.withLock { $0 }) {
                        throw RPCError(
                            GRPCAdapter.status(of: .beyond(limit, "fields", code: .resourceExhausted)))
                    }
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
}

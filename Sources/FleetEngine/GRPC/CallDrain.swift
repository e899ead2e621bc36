// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import NIOCore

/// Ends a connection of gRPC on which no call is open, a second after the server was told to end, or after the last call.
///
/// The library waits until the client answers a PING, which one that has vanished never does. What the client began before
/// it heard of the end may arrive within the second.
final class CallDrain: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

    private static let patience = TimeAmount.seconds(1)

    private var openCalls = 0
    private var isDraining = false
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        context.fireUserInboundEventTriggered(event)
        guard event is ChannelShouldQuiesceEvent else { return }
        self.isDraining = true
        self.endWithoutCalls()
    }

    /// Hears of a call, in the connection's event loop, until it ends.
    func began(_ call: any Channel) {
        self.openCalls += 1
        let bound = NIOLoopBound(self, eventLoop: call.eventLoop)
        call.closeFuture.whenComplete { _ in
            bound.value.openCalls -= 1
            bound.value.endWithoutCalls()
        }
    }

    private func endWithoutCalls() {
        guard self.isDraining, self.openCalls == 0, let context else { return }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: Self.patience) {
            let drain = bound.value
            // A client that is behind in reading is waited for by what stands nearer to the network.
            if drain.openCalls == 0 { drain.context?.close(promise: nil) }
        }
    }
}

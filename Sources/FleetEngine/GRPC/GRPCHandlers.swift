// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import NIOCore
import NIOHTTP2

/// What stands between the network, or TLS, and the library of gRPC, from the network's end.
struct GRPCHandlers {
    let limits: ConnectionLimits

    /// Adds what a connection has, before the library adds its own.
    func add(toConnection connection: any Channel) throws {
        try connection.pipeline.syncOperations.addHandlers([
            UnreadLimit(self.limits.request),
            // A client that says nothing is not waited for long when the server ends.
            DrainLimit(self.limits.drainOfGRPC), CallDrain(), SentMessages(),
            // What TLS needs to begin counts, too.
            HTTP2ReadLimit(
                frame: self.limits.request, silence: self.limits.silenceOfGRPC + self.limits.answerOfGRPC,
                streams: EngineGRPCServer.maximumCallsOfConnection),
        ])
    }

    /// Adds what a call has, before what the library has added to it.
    func add(toCall call: any Channel) throws {
        try call.pipeline.syncOperations.addHandlers(
            // A message is written at once, however long it is.
            UnreadLimit(self.limits.request, progress: SentMessages.progress),
            CallArrivalLimit(self.limits.request), position: .first)
        try call.parent?.pipeline.syncOperations.handler(type: CallDrain.self).began(call)
    }
}

extension ConnectionLimits {
    /// How long the other end of a connection of gRPC may say nothing before it is asked whether it is there.
    var silenceOfGRPC: Duration { min(.seconds(60), self.idle) }
    /// How long calls that are under way may take when the server ends.
    var drainOfGRPC: Duration { min(.seconds(10), self.drain) }
    /// How long it may take to answer that.
    var answerOfGRPC: Duration { min(.seconds(20), self.request) }
}

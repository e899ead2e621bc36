// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOSSL

/// Opens each connection with the certificate that is in force at the time; the client chooses HTTP/2 or HTTP/1.1.
struct TLSServerChannel: ServerChildChannel {
    typealias Value = HTTP2UpgradeChannel.Value

    /// How many streams a client of HTTP/2 may have at once: what NIO tells it.
    private static let streams = 100

    private let limits: ConnectionLimits
    private let latest: LatestTLS<HTTP2UpgradeChannel>

    /// Prepares connections.
    ///
    /// - Parameters:
    ///   - tls: The certificate, as it is at each moment.
    ///   - limits: How long a handshake may take, and streams that are open when the server ends.
    ///   - configuration: The limits of connections and streams.
    ///   - responder: Answers requests.
    /// - Throws: An error of TLS.
    init(
        tls: ServerTLS, limits: ConnectionLimits, configuration: HTTP2UpgradeChannel.Configuration,
        responder: @escaping HTTPChannelHandler.Responder
    ) throws {
        var configuration = configuration
        let others = configuration.streamConfiguration.additionalChannelHandlers
        configuration.streamConfiguration.additionalChannelHandlers = {
            [HTTP2StreamReporter() as any RemovableChannelHandler] + others()
        }
        self.limits = limits
        self.latest = try LatestTLS(tls) { [configuration] in
            try HTTP2UpgradeChannel(tlsConfiguration: $0, configuration: configuration, responder: responder)
        }
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let limits = self.limits
        return self.latest.value.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(LingeringClose(limits.drain), position: .first)
            // Between TLS, which tells the protocol, and that protocol.
            let tls = try pipeline.handler(type: NIOSSLServerHandler.self)
            // Whoever reads is told politely first, by the handlers of HTTP/2 when it was idle for long enough.
            let patience = limits.idle + min(limits.request, .seconds(20))
            try pipeline.addHandler(
                HTTP2Drain(limit: TimeAmount(limits.drain), idleLimit: TimeAmount(patience)), position: .after(tls))
            let handshake = HandshakeTimeLimit(limits.request) { chosen in
                // Only whole heads begin a stream, with limits of its own.
                chosen == "h2" ? HTTP2ReadLimit(frame: limits.request, silence: nil, streams: Self.streams) : nil
            }
            try pipeline.addHandler(handshake, position: .after(tls))
            return value
        }
    }

    func handle(value: Value, logger: Logger) async {
        await self.latest.value.handle(value: value, logger: logger)
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
package import Logging
import NIOCore
package import NIOSSL

/// One port of a service for HTTP: HTTP/1.1, and over TLS HTTP/2 too, as the client chooses.
package struct HTTPListener: Sendable {
    private let host: String
    private let port: Int
    private let limits: ConnectionLimits
    private let tls: TLSConfiguration?
    private let logger: Logger
    /// The connections of the port.
    package let connections: ConnectionCount

    /// Prepares a port.
    ///
    /// - Parameters:
    ///   - host: The address to listen on.
    ///   - port: The port; 0 picks a free one.
    ///   - limits: What clients may use up.
    ///   - tls: The certificate; `nil` serves plain HTTP/1.1.
    ///   - logger: Hears what the server has to tell.
    package init(host: String, port: Int, limits: ConnectionLimits, tls: TLSConfiguration?, logger: Logger) {
        self.host = host
        self.port = port
        self.limits = limits
        self.tls = tls
        self.logger = logger
        self.connections = ConnectionCount(maximum: limits.connections, port: "http", logger: logger)
    }

    /// A server that answers with a router, and tells the port once it listens.
    package func application<Context: RequestContext & InitializableFromSource<ApplicationRequestContextSource>>(
        _ router: Router<Context>, onListening: @escaping @Sendable (_ port: Int) -> Void
    ) throws -> Application<RouterResponder<Context>> {
        Application(
            router: router,
            server: try self.server(),
            configuration: .init(
                address: .hostname(self.host, port: self.port), serverName: "fleetpass",
                availableConnectionsDelegate: self.connections),
            onServerRunning: { channel in onListening(channel.localAddress?.port ?? 0) },
            logger: self.logger)
    }

    private func server() throws -> HTTPServerBuilder {
        let limits = self.limits
        let stream = HTTP1Channel.Configuration(
            additionalChannelHandlers: [RequestTimeLimit(limits.request)],
            idleTimeout: TimeAmount(limits.idle),
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: limits.headerBytes, maxHeaderListSize: limits.headerBytes,
                maxHeaderFieldCount: limits.headerFields))
        guard let tls else { return .http1(configuration: stream) }
        return HTTPServerBuilder { responder in
            HandshakeLimited(
                child: try HTTP2UpgradeChannel(
                    tlsConfiguration: tls,
                    configuration: .init(
                        idleTimeout: limits.idle, gracefulCloseTimeout: .seconds(20), streamConfiguration: stream),
                    responder: responder),
                limit: limits.request)
        }
    }
}

/// A connection with TLS that gets no longer for its handshake than a limit.
private struct HandshakeLimited: ServerChildChannel {
    let child: HTTP2UpgradeChannel
    let limit: Duration

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP2UpgradeChannel.Value> {
        self.child.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let tls = try pipeline.handler(type: NIOSSLServerHandler.self)
            try pipeline.addHandler(HandshakeTimeLimit(self.limit), position: .after(tls))
            return value
        }
    }

    func handle(value: HTTP2UpgradeChannel.Value, logger: Logger) async {
        await self.child.handle(value: value, logger: logger)
    }
}

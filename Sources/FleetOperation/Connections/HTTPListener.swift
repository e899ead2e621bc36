// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
package import Logging
import NIOCore
import NIOHTTPTypes

/// One port of a service for HTTP: HTTP/1.1, and over TLS HTTP/2 too, as the client chooses.
package struct HTTPListener: Sendable {
    private let host: String
    private let port: Int
    private let limits: ConnectionLimits
    private let tls: ServerTLS?
    private let pending: PendingRequestLimit.Rule?
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
    ///   - pending: Which requests are turned away when too many are worked on; `nil` turns none away.
    ///   - logger: Hears what the server has to tell.
    package init(
        host: String, port: Int, limits: ConnectionLimits, tls: ServerTLS?,
        pending: PendingRequestLimit.Rule? = nil, logger: Logger
    ) {
        self.host = host
        self.port = port
        self.limits = limits
        self.tls = tls
        self.pending = pending
        self.logger = logger
        self.connections = ConnectionCount(maximum: limits.connections, port: "http", logger: logger)
    }

    /// A server that answers with a responder, and tells the port once it listens.
    package func application<Responder: HTTPResponder>(
        _ responder: Responder, onListening: @escaping @Sendable (_ port: Int) -> Void
    ) -> Application<Responder> where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
        Application(
            responder: responder,
            server: self.server(),
            configuration: .init(
                address: .hostname(self.host, port: self.port), serverName: "fleetpass",
                backlog: ConnectionLimits.queue,
                availableConnectionsDelegate: self.connections),
            onServerRunning: { channel in onListening(channel.localAddress?.port ?? 0) },
            logger: self.logger)
    }

    private func server() -> HTTPServerBuilder {
        let (limits, pending) = (self.limits, self.pending)
        var stream = HTTP1Channel.Configuration(
            additionalChannelHandlers: Self.handlers(limits, pending),
            idleTimeout: TimeAmount(limits.idle),
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: limits.headerBytes, maxHeaderListSize: limits.headerBytes,
                maxHeaderFieldCount: limits.headerFields))
        if let tls {
            return HTTPServerBuilder { [stream] responder in
                try TLSServerChannel(
                    tls: tls, limits: limits,
                    configuration: .init(
                        idleTimeout: limits.idle, gracefulCloseTimeout: limits.drain, streamConfiguration: stream),
                    responder: responder)
            }
        }
        let others = stream.additionalChannelHandlers
        stream.additionalChannelHandlers = { [LingeringClose(limits.drain) as any RemovableChannelHandler] + others() }
        return .http1OnEventLoops(configuration: stream)
    }

    /// What stands between a connection, or a stream of one, and the router, from the network's end.
    private static func handlers(
        _ limits: ConnectionLimits, _ pending: PendingRequestLimit.Rule?
    ) -> [any RemovableChannelHandler] {
        var handlers: [any RemovableChannelHandler] = [
            ComparableHeads(), UnreadLimit(limits.request), DrainLimit(limits.drain), AnswerParts(),
            WholeAnswers(), RequestTimeLimit(limits.request), ContinueAnswer(),
        ]
        if let pending { handlers.append(PendingRequestLimit(pending)) }
        return handlers
    }
}

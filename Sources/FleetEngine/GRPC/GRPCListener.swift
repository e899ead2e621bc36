// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import GRPCNIOTransportHTTP2Posix
import HummingbirdCore
import NIOCore
import NIOPosix
import NIOSSL

/// Accepts the connections of gRPC: no more than a maximum, over TLS or not, and with a limit for how they begin.
struct GRPCListener: HTTP2ServerTransport.ListenerFactory {
    let host: String
    let port: Int
    let limits: ConnectionLimits
    let connections: ConnectionCount
    /// The certificate; `nil` serves without TLS.
    let tls: ServerTLS?

    var eventLoopGroup: any EventLoopGroup { MultiThreadedEventLoopGroup.singleton }

    func makeListeningChannel(
        listenerConfigurator: HTTP2ServerTransport.ListenerConfigurator,
        connectionConfigurator: HTTP2ServerTransport.ConnectionConfigurator
    ) async throws -> NIOAsyncChannel<HTTP2ServerTransport.ConnectionConfigurator.ConnectionChannel, Never> {
        let contexts = try self.tls.map { tls in
            try LatestTLS(tls) { configuration in
                var configuration = configuration
                configuration.applicationProtocols = ["grpc-exp", "h2"]
                return try NIOSSLContext(configuration: configuration)
            }
        }
        return try await ServerBootstrap(group: self.eventLoopGroup)
            .serverChannelOption(.backlog, value: CInt(ConnectionLimits.queue))
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        AvailableConnectionsChannelHandler(delegate: self.connections))
                }.flatMap { listenerConfigurator.configure(channel: channel) }
            }
            .bind(host: self.host, port: self.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(LingeringClose(self.limits.drainOfGRPC))
                    if let contexts {
                        try pipeline.addHandler(NIOSSLServerHandler(context: contexts.value))
                    }
                    try GRPCHandlers(limits: self.limits).add(toConnection: channel)
                }.flatMap {
                    connectionConfigurator.configure(
                        channel: channel, tls: contexts == nil ? .none : .configured(requireALPN: true))
                }
            }
    }
}

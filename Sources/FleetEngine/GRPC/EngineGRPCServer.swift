// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetOperation
import FleetSigning
import GRPCCore
import GRPCNIOTransportHTTP2Posix
public import Logging
import NIOCore
public import ServiceLifecycle

/// The engine's gRPC interface on a socket of its own: the public API, gRPC's health checks and reflection.
///
/// Messages may be compressed with gzip or deflate; an answer is compressed as its request was. On graceful shutdown it
/// accepts nothing new, finishes the calls at work, and returns from ``run()``.
public struct EngineGRPCServer: Service {
    /// The most bytes that a request may have, unless it is a batch of tasks, see ``EngineRoutes/maximumBatchBytes``.
    public static let maximumRequestBytes = EngineRoutes.maximumBodyBytes
    /// The most calls at once on one connection; a client's library keeps more back until one is answered.
    public static let maximumCallsOfConnection = 1000

    /// The connections of the port.
    package let connections: ConnectionCount

    private let transport: HTTP2ServerTransport.Custom<GRPCListener>
    private let server: GRPCServer<CountedTransport<HTTP2ServerTransport.Custom<GRPCListener>>>

    /// Prepares a server; it listens once ``run()`` is called.
    ///
    /// - Parameters:
    ///   - engine: The engine that answers.
    ///   - host: The IPv4 or IPv6 address to listen on.
    ///   - port: The port to listen on; 0 picks a free one, see ``port``.
    ///   - limits: What clients may use up. Connections of gRPC are meant to be kept: after the idle time, a minute at
    ///     most, the other end is asked whether it is there, and one that is may be without a call for 15 minutes.
    ///   - tls: The certificate; `nil` serves without TLS.
    ///   - logger: Hears when no more connections are taken.
    public init(
        engine: Engine, host: String, port: Int, limits: ConnectionLimits = ConnectionLimits(),
        tls: ServerTLS? = nil, logger: Logger = Logger(label: "fleetpass.grpc") { _ in SwiftLogNoOpLogHandler() }
    ) {
        let adapter = GRPCAdapter(engine: engine)
        let index = ServiceIndex.publicAPI
        let health = HealthRPCs(
            services: index.services, isServing: { await engine.isServing() },
            time: TimeSource(clock: ContinuousClock()))
        self.connections = ConnectionCount(maximum: limits.connections, port: "grpc", logger: logger)
        self.transport = HTTP2ServerTransport.Custom(
            listenerFactory: GRPCListener(
                host: host, port: port, limits: limits, connections: self.connections, tls: tls),
            config: Self.configuration(limits))
        self.server = GRPCServer(
            transport: CountedTransport(base: self.transport, adapter: adapter),
            services: [
                VehicleRPCs(adapter: adapter), TripRPCs(adapter: adapter), DeliveryRPCs(adapter: adapter), health,
                ReflectionRPCs(index: index),
            ],
            interceptors: [StrangerLimit(adapter: adapter)]
        )
    }

    /// The port that the server listens on, once it does.
    ///
    /// - Throws: `RuntimeError` when it could not listen or has stopped.
    public var port: Int {
        get async throws {
            let address = await self.transport.listeningAddress
            guard let port = address?.ipv4?.port ?? address?.ipv6?.port else {
                throw RuntimeError(code: .serverIsStopped, message: "The server could not listen, or has stopped.")
            }
            return port
        }
    }

    /// Serves until graceful shutdown or cancellation.
    public func run() async throws {
        try await withGracefulShutdownHandler {
            try await self.server.serve()
        } onGracefulShutdown: {
            self.beginShutdown()
        }
    }

    /// Accepts nothing new, and lets ``run()`` return once the calls at work are answered.
    func beginShutdown() {
        self.server.beginGracefulShutdown()
    }

    /// Every limit by name: a phone may vanish without a word, and must not hold a connection for ever.
    private static func configuration(
        _ limits: ConnectionLimits
    ) -> HTTP2ServerTransport.Custom<GRPCListener>.Config {
        var config = HTTP2ServerTransport.Custom<GRPCListener>.Config.defaults
        config.connection.maxIdleTime = .seconds(15 * 60)
        config.connection.maxGraceTime = limits.drainOfGRPC
        config.connection.keepalive.time = limits.silenceOfGRPC
        config.connection.keepalive.timeout = limits.answerOfGRPC
        config.connection.keepalive.clientBehavior.minPingIntervalWithoutCalls = .seconds(30)
        config.connection.keepalive.clientBehavior.allowWithoutCalls = true
        config.http2.maxConcurrentStreams = Self.maximumCallsOfConnection
        config.compression.enabledAlgorithms = .all
        // The one for all methods; ArrivingRequest holds each to its own.
        config.rpc.maxRequestPayloadSize = EngineRoutes.maximumBatchBytes
        config.channelDebuggingCallbacks.onAcceptHTTP2Stream = { stream in
            stream.eventLoop.makeCompletedFuture { try GRPCHandlers(limits: limits).add(toCall: stream) }
        }
        return config
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import GRPCCore
public import GRPCNIOTransportHTTP2Posix
public import ServiceLifecycle

/// The engine's gRPC interface on a socket of its own: the public API, gRPC's health checks and reflection.
///
/// Messages may be compressed with gzip or deflate; an answer is compressed as its request was. On graceful shutdown it accepts nothing new, finishes the calls at work, and returns from ``run()``.
public struct EngineGRPCServer: Service {
    /// The most bytes that a request may have.
    public static let maximumRequestBytes = 1024 * 1024

    private let server: GRPCServer<HTTP2ServerTransport.Posix>

    /// Prepares a server; it listens once ``run()`` is called.
    ///
    /// - Parameters:
    ///   - engine: The engine that answers.
    ///   - host: The IPv4 or IPv6 address to listen on.
    ///   - port: The port to listen on; 0 picks a free one, see ``port``.
    ///   - security: TLS, or nothing.
    public init(
        engine: Engine, host: String, port: Int,
        security: HTTP2ServerTransport.Posix.TransportSecurity = .plaintext
    ) {
        let adapter = GRPCAdapter(engine: engine)
        let index = ServiceIndex.publicAPI
        let health = HealthRPCs(
            services: index.services, isServing: { await engine.isServing() }, clock: ContinuousClock())
        self.server = GRPCServer(
            transport: HTTP2ServerTransport.Posix(
                address: host.contains(":") ? .ipv6(host: host, port: port) : .ipv4(host: host, port: port),
                transportSecurity: security,
                config: Self.configuration
            ),
            services: [
                VehicleRPCs(adapter: adapter), TripRPCs(adapter: adapter), DeliveryRPCs(adapter: adapter), health,
                ReflectionRPCs(index: index),
            ]
        )
    }

    /// The port that the server listens on, once it does.
    ///
    /// - Throws: `RuntimeError` when it could not listen or has stopped.
    public var port: Int {
        get async throws {
            let address = try await self.server.transport.listeningAddress
            guard let port = address.ipv4?.port ?? address.ipv6?.port else {
                throw RuntimeError(code: .transportError, message: "The server listens on \(address), without a port.")
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
    private static var configuration: HTTP2ServerTransport.Posix.Config {
        .defaults { config in
            config.connection.maxIdleTime = .seconds(15 * 60)
            config.connection.maxGraceTime = .seconds(10)
            config.connection.keepalive.time = .seconds(60)
            config.connection.keepalive.timeout = .seconds(20)
            config.connection.keepalive.clientBehavior.minPingIntervalWithoutCalls = .seconds(30)
            config.connection.keepalive.clientBehavior.allowWithoutCalls = true
            config.http2.maxConcurrentStreams = 1000
            config.compression.enabledAlgorithms = .all
            config.rpc.maxRequestPayloadSize = Self.maximumRequestBytes
        }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// What the clients of one port may use up.
public struct ConnectionLimits: Hashable, Sendable {
    /// Connections at once; more wait until one ends.
    public var connections: Int
    /// All header fields of a request over HTTP/1.1 together, in bytes; over HTTP/2, gRPC too, always 16,384.
    public var headerBytes: Int
    /// Header fields of a request over HTTP/1.1; over HTTP/2 and gRPC their bytes are limited alone.
    public var headerFields: Int
    /// How long a connection over HTTP may be without a request.
    public var idle: Duration
    /// How long requests that are under way may take when the server ends.
    public var drain: Duration
    /// How long a client may take for the TLS handshake, for the head of its first request, and then for each request.
    public var request: Duration

    /// How many connections may wait to be taken.
    ///
    /// Whoever finds the queue full tries again after a second, so a crowd that comes at once must fit. Linux allows no
    /// more than `net.core.somaxconn`, 4096 by default.
    package static let queue = 4096

    /// Sets limits; leave out what should keep its default.
    public init(
        connections: Int = 10_000, headerBytes: Int = 32_768, headerFields: Int = 100, idle: Duration = .seconds(75),
        drain: Duration = .seconds(25), request: Duration = .seconds(30)
    ) {
        self.connections = connections
        self.headerBytes = headerBytes
        self.headerFields = headerFields
        self.idle = idle
        self.drain = drain
        self.request = request
    }

    /// Reads the section `limits`, which has ``ConfigurationOption/connectionLimits``.
    package init(in values: ConfigurationValues) throws(ConfigurationError) {
        self.init(
            connections: try values.number("limits.connections"),
            headerBytes: try values.number("limits.header_bytes"),
            headerFields: try values.number("limits.header_fields"),
            idle: ConfigurationOption.duration(try values.required("limits.idle")) ?? .seconds(75),
            drain: ConfigurationOption.duration(try values.required("limits.drain")) ?? .seconds(25),
            request: ConfigurationOption.duration(try values.required("limits.request")) ?? .seconds(30))
    }
}

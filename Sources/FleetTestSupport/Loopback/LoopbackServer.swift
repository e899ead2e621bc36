// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokenClient
public import Foundation

/// An HTTP server on a free port of this machine that does what a closure says, well or badly.
///
/// For tests of network code only: one request per connection, no TLS, and nobody but this machine can reach it. It
/// stops when it is released.
public final class LoopbackServer: Sendable {
    /// One request.
    public struct Request: Sendable {
        /// The verb.
        public let method: String
        /// Path and query as they came.
        public let target: String
        /// The header fields.
        public let headers: [(name: String, value: String)]
        /// The body.
        public let body: Data

        /// The first header field of this name, or `nil`.
        public func header(_ name: String) -> String? {
            self.headers.first { $0.name.lowercased() == name.lowercased() }?.value
        }
    }

    /// What happens to one request.
    public enum Answer: Sendable {
        /// A well-formed response.
        case response(HTTPTransportResponse)
        /// A response that ends in the middle of its body.
        case torn(HTTPTransportResponse)
        /// A response whose body stops in the middle, while the connection stays, until the client or the server gives up.
        case stalled(HTTPTransportResponse)
        /// A response whose body comes a byte at a time and does not end.
        case drip
        /// The connection ends without an answer.
        case hangUp
        /// Nothing comes, until the client or the server gives up.
        case silence
    }

    /// The address.
    public let url: URL
    private let listener: LoopbackListener
    private let service: LoopbackService

    /// Starts to listen.
    ///
    /// - Parameter answer: What to do with each request; may wait to be slow.
    /// - Throws: `POSIXError` when there is no port.
    public convenience init(answer: @escaping @Sendable (Request) async -> Answer) throws {
        try self.init(keepingConnections: false, answer: answer)
    }

    /// Starts to listen, for a test that counts connections.
    ///
    /// - Parameters:
    ///   - keepsConnections: Whether a connection may bring another request after a well-formed response.
    ///   - answer: What to do with each request; may wait to be slow.
    /// - Throws: `POSIXError` when there is no port.
    package init(
        keepingConnections keepsConnections: Bool, answer: @escaping @Sendable (Request) async -> Answer
    ) throws {
        self.listener = try LoopbackListener()
        self.url = URL(string: "http://127.0.0.1:\(self.listener.port)") ?? URL(fileURLWithPath: "/")
        self.service = LoopbackService(keepsConnections: keepsConnections, answer: answer)
        self.listener.start { [service] connection in service.take(connection) }
    }

    deinit {
        self.listener.stop()
    }

    /// The requests so far, in the order in which they came.
    public var requests: [Request] { self.service.requests.entries }

    /// How many connections were opened so far.
    package var connectionCount: Int { self.service.opened.entries.count }

    /// Waits until so many requests have come.
    ///
    /// - Parameter count: How many, counted from the start.
    public func waitForRequests(_ count: Int) async {
        await self.service.requests.waitForEntries(count)
    }

    /// Waits until so many connections have ended.
    ///
    /// - Parameter count: How many, counted from the start.
    package func waitForEndedConnections(_ count: Int) async {
        await self.service.ended.waitForEntries(count)
    }

    /// Ends every connection and frees the port; later requests find nobody.
    public func stop() {
        self.listener.stop()
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// One HTTP request, as the client parts of Fleetpass make them.
public struct HTTPTransportRequest: Sendable {
    /// The verb, such as `GET`.
    public var method: String
    /// The absolute URL, already percent-encoded.
    public var url: URL
    /// The header fields.
    public var headers: [(name: String, value: String)]
    /// The body, if any.
    public var body: Data?
    /// How long the whole exchange may take.
    ///
    /// When it is over, a status outside of 2xx is still worth an answer, without body.
    public var timeout: Duration

    /// Makes a request.
    public init(
        method: String = "GET",
        url: URL,
        headers: [(name: String, value: String)] = [],
        body: Data? = nil,
        timeout: Duration = .seconds(8)
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
    }

    /// What a request gets of the time that is left for it, in whole milliseconds: all but a tenth, or but 200 ms.
    ///
    /// It ends first, as only the transport knows whether the head of a refusal has come, which tells enough.
    static func timeout(within left: Duration) -> Duration {
        let allowed = left - min(.milliseconds(200), left / 10)
        // Not zero, which HTTP clients may take for no limit.
        return .milliseconds(max(1, Int64(allowed / .milliseconds(1))))
    }
}

/// What a server answered.
public struct HTTPTransportResponse: Sendable {
    /// The HTTP status.
    public var status: Int
    /// The header fields; names are compared without regard to case.
    public var headers: [(name: String, value: String)]
    /// The body.
    public var body: Data

    /// Makes a response.
    public init(status: Int, headers: [(name: String, value: String)] = [], body: Data = Data()) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The first field of this name, or `nil`.
    public func header(_ name: String) -> String? {
        self.headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// Sends HTTP requests; an app may bring its own.
public protocol HTTPTransport: Sendable {
    /// Sends a request and waits for the whole answer.
    ///
    /// An answer outside of 2xx whose body does not come within ``HTTPTransportRequest/timeout`` is best returned with an
    /// empty one, as its status and header fields tell what to do: who asks gives up soon after that, and a refusal would
    /// seem to be a server that does not answer.
    ///
    /// It is not called in a task that was cancelled before. The task may be cancelled while the answer is awaited, as at a
    /// deadline or at sign-out; nobody wants the answer then, and the exchange is best ended.
    ///
    /// - Throws: ``TokenClientError`` with `unreachable` or `timedOut`, or `CancellationError`.
    func send(_ request: HTTPTransportRequest) async throws -> HTTPTransportResponse
}

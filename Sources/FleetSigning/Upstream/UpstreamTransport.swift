// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// One HTTP request to Google's services, an identity provider, a key set, or the company's own backend.
///
/// It may carry what is nobody's business: printing it shows verb and address only.
public struct UpstreamRequest: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The verb, such as `POST`.
    public var method: String
    /// The absolute URL, already percent-encoded.
    public var url: String
    /// The header fields.
    public var headers: [(name: String, value: String)]
    /// The body, if any.
    public var body: [UInt8]?
    /// How long the whole exchange may take.
    public var timeout: Duration
    /// The longest body to read, in bytes; a longer one is an error.
    public var maximumBytes: Int
    /// Whether sending it twice does no more than sending it once, as a `GET` by its nature (RFC 9110, section 9.2.2).
    ///
    /// A transport may send such a request again where a connection that was kept open ended before the answer began.
    public var isIdempotent: Bool

    /// Makes a request; one that is not said to be idempotent is if it is a `GET`.
    public init(
        method: String = "GET", url: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil,
        timeout: Duration = .seconds(10), maximumBytes: Int = 1 << 20, isIdempotent: Bool? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.maximumBytes = maximumBytes
        self.isIdempotent = isIdempotent ?? (method == "GET")
    }

    /// Verb and address without query.
    public var description: String { "\(self.method) \(UpstreamAddress.shown(self.url))" }
    /// The same as ``description``.
    public var debugDescription: String { self.description }
    /// A mirror that shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["request": self.description]) }
}

/// What was answered.
///
/// It may carry a secret: printing it shows status and size only.
public struct UpstreamResponse: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The HTTP status.
    public var status: Int
    /// The header fields; names are compared without regard to case.
    public var headers: [(name: String, value: String)]
    /// The body.
    public var body: [UInt8]

    /// Makes an answer.
    public init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The first field of this name, or `nil`.
    public func header(_ name: String) -> String? {
        self.headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// Status and size.
    public var description: String { "\(self.status), \(self.body.count) bytes" }
    /// The same as ``description``.
    public var debugDescription: String { self.description }
    /// A mirror that shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["response": self.description]) }
}

/// Sends HTTP requests to other services.
///
/// Redirects must not be followed, as a credential goes to the host it was meant for or nowhere, and the request's limits
/// of time and size must be kept.
public protocol UpstreamTransport: Sendable {
    /// Sends a request and waits for the whole answer, of whatever status.
    ///
    /// - Parameter request: What to send.
    /// - Returns: The answer.
    /// - Throws: ``UpstreamError`` when there was no answer, and `CancellationError`. Any other error is taken for
    ///   ``UpstreamError/Code/unreachable``.
    func send(_ request: UpstreamRequest) async throws -> UpstreamResponse
}

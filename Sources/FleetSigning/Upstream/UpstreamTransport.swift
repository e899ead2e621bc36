// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// One HTTP request to an identity provider, a key set, or the company's own backend.
///
/// It may carry what is nobody's business: printing it shows verb and address only.
public struct UpstreamRequest: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The verb, such as `POST`.
    public var method: String
    /// The absolute URL.
    public var url: String
    /// The header fields.
    public var headers: [(name: String, value: String)]
    /// The body, if any.
    public var body: [UInt8]?
    /// How long the whole exchange may take.
    public var timeout: Duration
    /// The longest body to read; a longer one is an error.
    public var maximumBytes: Int

    /// Makes a request.
    public init(
        method: String = "GET", url: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil,
        timeout: Duration = .seconds(10), maximumBytes: Int = 256 * 1024
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.maximumBytes = maximumBytes
    }

    /// Verb and address without query.
    public var description: String { "\(self.method) \(UpstreamAddress.withoutQuery(self.url))" }
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
    /// The value of `Cache-Control`, if any.
    public var cacheControl: String?
    /// The value of `ETag`, if any.
    public var entityTag: String?
    /// The body.
    public var body: [UInt8]

    /// Makes an answer.
    public init(status: Int, cacheControl: String? = nil, entityTag: String? = nil, body: [UInt8] = []) {
        self.status = status
        self.cacheControl = cacheControl
        self.entityTag = entityTag
        self.body = body
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
/// Redirects must not be followed, and the request's limits of time and size must be kept.
public protocol UpstreamTransport: Sendable {
    /// Sends a request and waits for the whole answer, of whatever status.
    ///
    /// - Parameter request: What to send.
    /// - Returns: The answer.
    /// - Throws: Any error when there was no answer, and `CancellationError`.
    func send(_ request: UpstreamRequest) async throws -> UpstreamResponse
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// One HTTP request to an identity service.
///
/// It may carry credentials: printing it shows verb, host, path and the names of header fields only.
public struct CredentialsRequest: Sendable {
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
    /// How long the answer's body may be, in bytes.
    public var maximumBytes: Int

    /// Makes a request.
    public init(
        method: String = "GET", url: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil,
        timeout: Duration = .seconds(10), maximumBytes: Int = 1 << 20
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.maximumBytes = maximumBytes
    }
}

/// What an identity service answered.
///
/// It may carry tokens: printing it shows status, size and the names of header fields only.
public struct CredentialsResponse: Sendable {
    /// The HTTP status.
    public var status: Int
    /// The header fields; names are compared without regard to case.
    public var headers: [(name: String, value: String)]
    /// The body.
    public var body: [UInt8]

    /// Makes a response.
    public init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The first field of this name, or `nil`.
    public func header(_ name: String) -> String? {
        self.headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// Sends HTTP requests to identity services.
///
/// Redirects must not be followed: a credential goes to the host it was meant for, or nowhere.
public protocol CredentialsTransport: Sendable {
    /// Sends a request and waits for the whole answer, of whatever status.
    ///
    /// - Parameter request: What to send.
    /// - Returns: The answer.
    /// - Throws: Any error when there was no answer, and `CancellationError`.
    func send(_ request: CredentialsRequest) async throws -> CredentialsResponse
}

extension CredentialsRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Verb, address without query, and the names of the header fields.
    public var description: String {
        "\(self.method) \(self.url.prefix { $0 != "?" }) [\(self.headers.map(\.name).joined(separator: ", "))]"
    }
    /// The same as ``description``.
    public var debugDescription: String { self.description }
    /// A mirror that shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["request": self.description]) }
}

extension CredentialsResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Status, size, and the names of the header fields.
    public var description: String {
        "\(self.status), \(self.body.count) bytes [\(self.headers.map(\.name).joined(separator: ", "))]"
    }
    /// The same as ``description``.
    public var debugDescription: String { self.description }
    /// A mirror that shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["response": self.description]) }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import FleetSigning
import NIOCore
import NIOHTTP1

/// Sends requests with AsyncHTTPClient over a connection pool of its own.
///
/// Redirects are not followed, and proxy variables are not read.
public final class AsyncHTTPClientTransport: CredentialsTransport {
    private let client: HTTPClient

    /// Makes a transport; its connections close when it is no longer used.
    public init() {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = .seconds(5)
        // A refused connection is an answer; whoever sends decides whether to try again.
        configuration.connectionPool.retryConnectionEstablishment = false
        self.client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
    }

    deinit {
        // A client that is let go without this stops the process; the call keeps it alive until it is closed.
        self.client.shutdown { _ in }
    }

    /// Sends a request and waits for the whole answer.
    ///
    /// - Parameter request: What to send.
    /// - Returns: The answer.
    /// - Throws: ``CredentialError`` with ``CredentialError/Code/unavailable``, ``CredentialError/Code/timedOut`` or,
    ///   for an answer above ``CredentialsRequest/maximumBytes``, ``CredentialError/Code/invalidAnswer``;
    ///   `CancellationError`.
    public func send(_ request: CredentialsRequest) async throws -> CredentialsResponse {
        var outgoing = HTTPClientRequest(url: request.url)
        outgoing.method = HTTPMethod(rawValue: request.method)
        for header in request.headers { outgoing.headers.add(name: header.name, value: header.value) }
        if let body = request.body { outgoing.body = .bytes(body) }
        let timeout = CredentialError(code: .timedOut, message: "There was no answer in time.")
        do {
            // The client's own limit ends with the answer's head.
            return try await TimeSource(clock: ContinuousClock()).withLimit(request.timeout, orThrow: timeout) {
                [outgoing] in
                let response = try await self.client.execute(outgoing, timeout: TimeAmount(request.timeout))
                let body = try await response.body.collect(upTo: request.maximumBytes)
                return CredentialsResponse(
                    status: Int(response.status.code),
                    headers: response.headers.map { ($0.name, $0.value) },
                    body: Array(body.readableBytesView)
                )
            }
        } catch let error as CredentialError {
            throw error
        } catch let error as HTTPClientError where [.deadlineExceeded, .connectTimeout, .readTimeout].contains(error) {
            throw timeout
        } catch is NIOTooManyBytesError {
            throw CredentialError(
                code: .invalidAnswer, message: "The answer has more than \(request.maximumBytes) bytes.")
        } catch {
            if Task.isCancelled { throw CancellationError() }
            throw CredentialError(code: .unavailable, message: "The connection failed.", cause: error)
        }
    }
}

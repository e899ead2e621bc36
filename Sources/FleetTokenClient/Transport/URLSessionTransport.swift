// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Sends requests with a `URLSession` that keeps nothing: no cache, no cookies, no stored credentials.
///
/// A redirect is not followed, as it would carry credentials elsewhere; its answer is returned as it is. The timeout
/// covers the whole exchange, not only its silences. An answer outside of 2xx whose body is too long, or does not come
/// in full, is returned with an empty one, as its status and header fields tell what to do.
///
/// On Linux, Foundation's session ends the process on answers that are rare but allowed, such as one with a trailer, and
/// when the connection breaks off within the header fields. Servers and other programs that have to go on there should
/// bring an ``HTTPTransport`` of their own. Where `http_proxy`, `all_proxy` or `ALL_PROXY` names a proxy, that session
/// would send it what is meant for this machine over plain HTTP; unless `no_proxy` names the host, separated by commas
/// from others, that is an error.
public final class URLSessionTransport: HTTPTransport {
    let session: URLSession
    private let exchanges: URLSessionExchanges
    #if canImport(FoundationNetworking)
        private let proxy = EnvironmentProxy(environment: ProcessInfo.processInfo.environment)
    #endif

    /// Makes a session of its own.
    ///
    /// - Parameters:
    ///   - maximumBodyBytes: The longest body that is read; a longer one ends the exchange, and is an error in a 2xx.
    ///   - connectionsPerHost: The most connections to one host at once; further requests wait. `nil` leaves it to the
    ///     system, which allows 6.
    public init(maximumBodyBytes: Int = 4 * 1024 * 1024, connectionsPerHost: Int? = nil) {
        let configuration = URLSessionConfiguration.ephemeral
        if let connectionsPerHost { configuration.httpMaximumConnectionsPerHost = connectionsPerHost }
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        configuration.urlCredentialStorage = nil
        self.exchanges = URLSessionExchanges(maximumBodyBytes: maximumBodyBytes)
        self.session = URLSession(configuration: configuration, delegate: self.exchanges, delegateQueue: nil)
    }

    deinit {
        self.session.finishTasksAndInvalidate()
    }

    /// Sends a request and waits for the whole answer.
    ///
    /// - Parameter request: What to send.
    /// - Returns: What the server answered, whatever its status.
    /// - Throws: ``TokenClientError`` with `unreachable`, `timedOut`, `invalidAnswer` or, on Linux, `insecureURL`;
    ///   `CancellationError`.
    public func send(_ request: HTTPTransportRequest) async throws -> HTTPTransportResponse {
        try Task.checkCancellation()
        #if canImport(FoundationNetworking)
            try self.proxy.check(request.url)
        #endif
        var urlRequest = URLRequest(url: request.url)
        urlRequest.httpMethod = request.method
        urlRequest.httpBody = request.body
        let timeout = request.timeout.waitable
        // The session's own timeout counts silences only; it must not strike before the deadline.
        urlRequest.timeoutInterval = timeout / .seconds(1) + 1
        for header in request.headers { urlRequest.addValue(header.value, forHTTPHeaderField: header.name) }
        let task = self.session.dataTask(with: urlRequest)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                self.exchanges.start(task, timeout: timeout, continuation)
                task.resume()
                if Task.isCancelled { self.abandon(task) }
            }
        } onCancel: {
            self.abandon(task)
        }
    }

    private func abandon(_ task: URLSessionDataTask) {
        self.exchanges.finish(task, with: .failure(CancellationError()))
        task.cancel()
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The exchanges of one session that are under way; each ends once, by whoever is first.
final class URLSessionExchanges: NSObject, URLSessionDataDelegate, Sendable {
    private struct Exchange: Sendable {
        let continuation: CheckedContinuation<HTTPTransportResponse, any Error>
        let deadline: Task<Void, Never>
        var body = Data()
    }

    private let maximumBodyBytes: Int
    private let exchanges = Locked<[Int: Exchange]>([:])

    init(maximumBodyBytes: Int) {
        self.maximumBodyBytes = maximumBodyBytes
    }

    func start(
        _ task: URLSessionTask, timeout: Duration,
        _ continuation: CheckedContinuation<HTTPTransportResponse, any Error>
    ) {
        self.exchanges.withLock { exchanges in
            // A priority of its own: whoever waits may be more urgent than whoever began the exchange.
            let deadline = Task(priority: .userInitiated) {
                guard (try? await Task.sleep(for: timeout)) != nil else { return }
                let message = "\(Self.server(of: task)) did not answer in full within \(timeout)."
                self.finish(task, withoutBodyFor: TokenClientError(code: .timedOut, message: message))
                task.cancel()
            }
            exchanges[task.taskIdentifier] = Exchange(continuation: continuation, deadline: deadline)
        }
    }

    func finish(_ task: URLSessionTask, with result: Result<HTTPTransportResponse, any Error>) {
        guard let exchange = self.exchanges.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
        exchange.deadline.cancel()
        exchange.continuation.resume(with: result)
    }

    /// Ends an exchange whose body did not come in full; of an answer that is no success, the head tells enough.
    private func finish(_ task: URLSessionTask, withoutBodyFor error: TokenClientError) {
        guard let response = task.response as? HTTPURLResponse, !(200..<300).contains(response.statusCode) else {
            return self.finish(task, with: .failure(error))
        }
        self.finish(task, with: .success(Self.response(response, body: Data())))
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isTooLong = self.exchanges.withLock { exchanges in
            exchanges[dataTask.taskIdentifier]?.body.append(data)
            return exchanges[dataTask.taskIdentifier].map { $0.body.count > self.maximumBodyBytes } ?? false
        }
        guard isTooLong else { return }
        let error = TokenClientError(
            code: .invalidAnswer,
            message: "\(Self.server(of: dataTask)) sent more than \(self.maximumBodyBytes) bytes."
        )
        self.finish(dataTask, withoutBodyFor: error)
        dataTask.cancel()
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
        // Not every platform goes on to complete the task after a refused redirect.
        self.finish(task, with: .success(Self.response(response, body: Data())))
        task.cancel()
    }

    #if canImport(FoundationNetworking)
        // This platform asks when the whole answer has come and, left to itself without credentials, ends nothing.
        func urlSession(
            _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            self.urlSession(session, task: task, didCompleteWithError: nil)
            completionHandler(.cancelAuthenticationChallenge, nil)
        }
    #endif

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let body = self.exchanges.withLock { $0[task.taskIdentifier]?.body } ?? Data()
        if let error {
            self.finish(task, withoutBodyFor: Self.failure(error, of: Self.server(of: task)))
        } else if let response = task.response as? HTTPURLResponse {
            self.finish(task, with: .success(Self.response(response, body: body)))
        } else {
            let message = "\(Self.server(of: task)) sent no HTTP answer."
            self.finish(task, with: .failure(TokenClientError(code: .unreachable, message: message)))
        }
    }

    private static func failure(_ error: any Error, of server: String) -> TokenClientError {
        let cause = (error as? URLError)?.code
        var advice = ""
        // Nothing is wrong with such a URL: up to Swift 6.3, FoundationNetworking refuses every IPv6 address in one.
        if cause == .badURL, server.hasPrefix("[") {
            advice = " This system's URLSession takes no IPv6 address; use a host name, such as localhost for [::1]."
        }
        return TokenClientError(
            code: cause == .timedOut ? .timedOut : .unreachable, message: "\(server) could not be reached.\(advice)",
            cause: error)
    }

    private static func server(of task: URLSessionTask) -> String { task.originalRequest?.url?.server ?? "The server" }

    private static func response(_ response: HTTPURLResponse, body: Data) -> HTTPTransportResponse {
        let headers = response.allHeaderFields.compactMap { field -> (name: String, value: String)? in
            guard let name = field.key as? String, let value = field.value as? String else { return nil }
            return (name, value)
        }
        return HTTPTransportResponse(status: response.statusCode, headers: headers, body: body)
    }
}

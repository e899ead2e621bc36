// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokenClient

/// An `HTTPTransport` that answers from a script instead of a network.
public final class StubTransport: HTTPTransport {
    /// What happens to one request.
    public enum Answer: Sendable {
        /// The server answers.
        case response(HTTPTransportResponse)
        /// The network fails.
        case failure(any Error)
        /// Nothing ever comes, until the calling task is cancelled.
        case silence
    }

    private let log = ArrivalLog<HTTPTransportRequest>()
    private let answer: @Sendable (HTTPTransportRequest, Int) async throws -> Answer

    /// Answers each request with what a closure says.
    ///
    /// - Parameter answer: Gets the request and how many came before it; may wait to be slow.
    public init(answer: @escaping @Sendable (HTTPTransportRequest, Int) async throws -> Answer) {
        self.answer = answer
    }

    /// Answers requests from a list, in order; when the list is used up, the last answer repeats.
    ///
    /// - Parameter script: The answers; an empty list is a network that is down.
    public convenience init(_ script: [Answer]) {
        let isDown = Answer.failure(TokenClientError(code: .unreachable, message: "The stub's network is down."))
        self.init { _, index in index < script.count ? script[index] : script.last ?? isDown }
    }

    /// The requests so far, in the order in which they came.
    public var requests: [HTTPTransportRequest] { self.log.entries }

    /// Waits until so many requests have come.
    ///
    /// - Parameter count: How many, counted from the start.
    public func waitForRequests(_ count: Int) async {
        await self.log.waitForEntries(count)
    }

    /// Records a request and plays its answer.
    ///
    /// - Parameter request: What would be sent.
    /// - Returns: The scripted response.
    /// - Throws: The scripted failure, or `CancellationError`.
    public func send(_ request: HTTPTransportRequest) async throws -> HTTPTransportResponse {
        let index = self.log.append(request)
        switch try await self.answer(request, index) {
        case .response(let response): return response
        case .failure(let error): throw error
        case .silence:
            // Never ends by itself: the stream has no elements and is not finished.
            let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
            for await _ in stream {}
            withExtendedLifetime(continuation) {}
            throw CancellationError()
        }
    }
}

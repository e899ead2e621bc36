// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetTokens
package import Foundation

/// One REST call, apart from the token and the endpoint.
package struct EngineRequest: Sendable {
    /// The verb.
    package var method: String
    /// The path below the endpoint, not percent-encoded.
    package var segments: [String]
    /// The query, not percent-encoded.
    package var query: [(name: String, value: String)]
    /// The JSON body, if any.
    package var body: Data?

    /// Makes a request.
    package init(
        method: String,
        segments: [String],
        query: [(name: String, value: String)] = [],
        body: Data? = nil
    ) {
        self.method = method
        self.segments = segments
        self.query = query
        self.body = body
    }
}

/// How a call went.
package struct EngineAnswer: Sendable {
    /// The body of the answer, or why there is none.
    package var result: Result<Data, EngineFailure>
    /// The token that was sent last; `nil` when none was.
    package var token: FleetToken?
    /// How long the call waited for tokens.
    package var tokenWait: Duration
}

/// Calls the engine with a token for one subject.
///
/// The token is asked for at each call and checked against the subject before it is sent. When the engine refuses it
/// (401, or 403 for a token that was not sent before), it is invalidated and the call is sent once more with a new one.
package struct AuthorizedCall: Sendable {
    private let endpoint: EngineEndpoint
    private let subject: TokenSubject
    private let tokens: any TokenProvider
    private let transport: any HTTPTransport
    private let clock: any Clock<Duration>

    /// Prepares calls.
    package init(
        endpoint: EngineEndpoint,
        subject: TokenSubject,
        tokens: any TokenProvider,
        transport: any HTTPTransport,
        clock: any Clock<Duration>
    ) {
        self.endpoint = endpoint
        self.subject = subject
        self.tokens = tokens
        self.transport = transport
        self.clock = clock
    }

    /// Sends a request.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - lastToken: The token of the call before, which tells a 403 after a token change from any other.
    ///   - limit: How long everything may take, tokens and the second attempt included.
    /// - Returns: How it went.
    /// - Throws: `CancellationError` when the calling task was cancelled, and nothing else.
    package func send(
        _ request: EngineRequest,
        lastToken: FleetToken?,
        limit: Duration
    ) async throws -> EngineAnswer {
        let budget = Budget(watch: Stopwatch(self.clock), limit: limit)
        let first = try await self.attempt(request, within: budget)
        guard case .failure(let failure) = first.result, failure.stage == .engine, let refused = first.token,
            failure.httpStatus == 401 || (failure.httpStatus == 403 && refused != lastToken)
        else { return first }

        self.tokens.invalidate(refused, for: self.subject)
        var second = try await self.attempt(request, within: budget, unless: refused)
        second.tokenWait += first.tokenWait
        // Without a second attempt, the engine's refusal says more than the lack of another token.
        guard second.token != nil else {
            return EngineAnswer(result: first.result, token: refused, tokenWait: second.tokenWait)
        }
        return second
    }

    // MARK: - One attempt

    private struct Budget {
        var watch: Stopwatch
        var limit: Duration
        var left: Duration { self.limit - self.watch.elapsed }
    }

    private func attempt(
        _ request: EngineRequest,
        within budget: Budget,
        unless refused: FleetToken? = nil
    ) async throws -> EngineAnswer {
        let start = budget.watch.elapsed
        var answer = EngineAnswer(result: .success(Data()), token: nil, tokenWait: .zero)
        var stage = EngineFailure.Stage.token
        do {
            let url = try self.endpoint.url(request.segments, query: request.query)
            defer { if stage == .token { answer.tokenWait = budget.watch.elapsed - start } }
            let found = try await self.limited(budget.left) { [tokens, subject] in try await tokens.token(for: subject)
            }
            answer.tokenWait = budget.watch.elapsed - start
            guard let token = found else { throw EngineFailure.timeIsUp(.token, after: budget.limit) }
            try self.check(token)
            guard token != refused else {
                throw EngineFailure(stage: .token, code: .unauthenticated, message: "No other token could be had.")
            }

            stage = .connection
            answer.token = token
            var headers = [("Accept", "application/json"), ("Authorization", token.authorizationHeader)]
            if request.body != nil { headers.append(("Content-Type", "application/json")) }
            let left = budget.left
            let message = HTTPTransportRequest(
                method: request.method, url: url, headers: headers, body: request.body, timeout: left)
            let received = try await self.limited(left) { [transport] in try await transport.send(message) }
            guard let response = received else { throw EngineFailure.timeIsUp(.connection, after: budget.limit) }
            answer.result =
                (200..<300).contains(response.status)
                ? .success(response.body) : .failure(EngineFailure(refusal: response))
        } catch {
            try Task.checkCancellation()
            answer.result = .failure(error as? EngineFailure ?? EngineFailure(stage: stage, error))
        }
        return answer
    }

    private func check(_ token: FleetToken) throws(TokenClientError) {
        do {
            try self.subject.checkReach(of: token)
        } catch {
            self.tokens.invalidate(token, for: self.subject)
            throw error
        }
    }

    /// Runs some work, or gives it up and returns `nil` when the time is over.
    private func limited<Value: Sendable>(
        _ limit: Duration,
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value? {
        guard limit > .zero else { return nil }
        return try await withThrowingTaskGroup(of: Value?.self) { [clock] group in
            group.addTask { try await work() }
            group.addTask {
                try await clock.sleep(for: limit)
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }
}

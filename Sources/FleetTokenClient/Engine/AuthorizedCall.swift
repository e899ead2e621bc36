// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

/// Calls the engine with a token for one subject.
///
/// The token is asked for at each call and checked against the subject before it is sent. When the engine refuses it
/// (401, or 403 for a token that was not sent before, unless one was renewed for a 403 since the last success), it is
/// invalidated and the call is sent once more with a new one.
package struct AuthorizedCall: Sendable {
    private let endpoint: EngineEndpoint
    private let subject: TokenSubject
    private let other: TokenSubject?
    private let tokens: any TokenProvider
    private let transport: any HTTPTransport
    private let time: MonotonicTime

    /// Prepares calls.
    ///
    /// - Parameters:
    ///   - endpoint: Where the engine is.
    ///   - subject: Whose token is asked for.
    ///   - other: Whose token is sent too, when the provider hands out that instead or has none for the subject.
    ///   - tokens: Where tokens come from.
    ///   - transport: What carries the requests.
    ///   - time: What limits are measured with.
    package init(
        endpoint: EngineEndpoint,
        subject: TokenSubject,
        alsoAccepting other: TokenSubject? = nil,
        tokens: any TokenProvider,
        transport: any HTTPTransport,
        time: MonotonicTime
    ) {
        self.endpoint = endpoint
        self.subject = subject
        self.other = other
        self.tokens = tokens
        self.transport = transport
        self.time = time
    }

    /// Sends a request.
    ///
    /// - Parameters:
    ///   - lastToken: The token of the call before, which tells a 403 after a token change from any other; it takes the
    ///     answer in.
    ///   - limit: How long everything may take, tokens and the second attempt included; a year at most.
    ///   - request: Makes what is sent right before it goes out, when the token is there; called again for the second
    ///     attempt. From then on nobody knows what the engine has got; a call that ends without it has sent nothing.
    /// - Returns: How it went.
    /// - Throws: `CancellationError` when the calling task was cancelled, or what `request` throws, and nothing else.
    package func send(
        lastToken: LastToken,
        limit: Duration,
        _ request: () throws -> EngineRequest
    ) async throws -> EngineAnswer {
        let deadline = self.time.now.advanced(by: limit.waitable)
        let (first, asked) = try await self.attempt(request, until: deadline)
        guard case .failure(let failure) = first.result, let refused = first.token,
            failure.httpStatus == 401
                || (failure.httpStatus == 403 && lastToken.mayRenew(refused, for: self.subject))
        else { return first }

        let renewed: TokenSubject? = failure.httpStatus == 403 ? self.subject : nil
        self.tokens.invalidate(refused, for: asked)
        var (second, _) = try await self.attempt(request, until: deadline, unless: refused)
        second.tokenWait += first.tokenWait
        second.renewed = renewed
        // Without a second attempt, the engine's refusal says more than the lack of another token.
        guard second.token != nil else {
            return EngineAnswer(result: first.result, token: refused, tokenWait: second.tokenWait, renewed: renewed)
        }
        return second
    }

    // MARK: - One attempt

    /// Sends the request once, and says whose token was asked for.
    private func attempt(
        _ request: () throws -> EngineRequest,
        until deadline: MonotonicInstant,
        unless refused: FleetToken? = nil
    ) async throws -> (EngineAnswer, asked: TokenSubject) {
        let start = self.time.now
        var asked = self.subject
        let token: Result<FleetToken, EngineFailure>
        do throws(EngineFailure) {
            token = .success(try await self.token(for: &asked, until: deadline, unless: refused))
        } catch {
            token = .failure(error)
        }
        try Task.checkCancellation()
        let tokenWait = start.duration(to: self.time.now)

        switch token {
        case .failure(let failure):
            return (EngineAnswer(result: .failure(failure), token: nil, tokenWait: tokenWait), asked)
        case .success(let token):
            let result = await self.exchange(try request(), token, until: deadline)
            try Task.checkCancellation()
            return (EngineAnswer(result: result, token: token, tokenWait: tokenWait), asked)
        }
    }

    /// A token for a subject, which becomes the other one where the provider has none for it.
    private func token(
        for subject: inout TokenSubject,
        until deadline: MonotonicInstant,
        unless refused: FleetToken?
    ) async throws(EngineFailure) -> FleetToken {
        let token: FleetToken
        do throws(EngineFailure) {
            token = try await self.fetch(subject, until: deadline)
        } catch {
            guard let other, (error.cause as? TokenClientError)?.code == .invalidConfiguration else { throw error }
            subject = other
            token = try await self.fetch(other, until: deadline)
        }
        do {
            try self.check(token)
        } catch {
            self.tokens.invalidate(token, for: subject)
            throw EngineFailure(stage: .token, error)
        }
        guard token != refused else {
            throw EngineFailure(stage: .token, code: .unauthenticated, message: "No other token could be had.")
        }
        return token
    }

    private func fetch(
        _ subject: TokenSubject, until deadline: MonotonicInstant
    ) async throws(EngineFailure) -> FleetToken {
        try await self.within(deadline, .token) { [tokens] in try await tokens.token(for: subject) }
    }

    private func check(_ token: FleetToken) throws(TokenClientError) {
        do throws(TokenClientError) {
            try self.subject.check(token)
        } catch {
            guard let other, (try? other.check(token)) != nil else { throw error }
        }
    }

    private func exchange(
        _ request: EngineRequest,
        _ token: FleetToken,
        until deadline: MonotonicInstant
    ) async -> Result<Data, EngineFailure> {
        do throws(EngineFailure) {
            var headers = [("Accept", "application/json"), ("Authorization", token.authorizationHeader)]
            if request.body != nil { headers.append(("Content-Type", "application/json")) }
            let message = HTTPTransportRequest(
                method: request.method,
                url: try self.endpoint.url(request.segments, query: request.query),
                headers: headers,
                body: request.body,
                timeout: HTTPTransportRequest.timeout(within: self.time.now.duration(to: deadline))
            )
            let response = try await self.within(deadline, .connection) { [transport] in
                try Task.checkCancellation()
                return try await transport.send(message)
            }
            guard (200..<300).contains(response.status) else { throw EngineFailure(refusal: response) }
            return .success(response.body)
        } catch {
            return .failure(error)
        }
    }

    // MARK: - Time

    /// Does some work, or cancels it at the deadline or with the calling task.
    private func within<Value: Sendable>(
        _ deadline: MonotonicInstant,
        _ stage: EngineFailure.Stage,
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws(EngineFailure) -> Value {
        // Without this, work that takes no time could still win.
        guard self.time.now < deadline else { throw .timeIsUp(stage) }
        let outcome = await firstOutcome(of: work) { [time] in
            (try? await time.sleep(until: deadline)).map { EngineFailure.timeIsUp(stage) }
        }
        do {
            return try outcome.get()
        } catch {
            throw error as? EngineFailure ?? EngineFailure(stage: stage, error)
        }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens

extension TokenProvider {
    /// Asks for a token on behalf of code that cannot wait in a task: the SDKs' protocols, Objective-C and C.
    ///
    /// The closure is called exactly once and never on this call's own stack: with a token, with an error, or when the
    /// limit is over, whatever the provider does, and also when whoever asked is gone. Cancelling the returned task ends
    /// the wait at once, with `CancellationError`; the fetch itself goes on for the cache.
    ///
    /// - Parameters:
    ///   - subject: Whose token is needed.
    ///   - limit: The longest wait, a year at most; the default lies below the drivers' reporting interval of 10 s.
    ///   - clock: What the limit is measured with.
    ///   - completion: Gets the token, or ``TokenClientError`` or `CancellationError`; on any queue.
    /// - Returns: The wait, to be cancelled by who no longer wants the token.
    @discardableResult
    public func fetchToken(
        for subject: TokenSubject,
        within limit: Duration = .seconds(9),
        clock: some Clock<Duration> = ContinuousClock(),
        completion: @escaping @Sendable (Result<FleetToken, any Error>) -> Void
    ) -> Task<Void, Never> {
        Task {
            // No alarm for what is at hand: on Linux even a cancelled one takes memory until its deadline.
            if !Task.isCancelled, let cached = (self as? FleetTokenProvider)?.cachedToken(for: subject) {
                completion(.success(cached))
                return
            }
            await tell(completion, within: limit, clock: clock) { try await self.token(for: subject) }
        }
    }
}

extension FleetTokenProvider {
    /// Makes sure that the token in hand lives so long, on behalf of code that cannot wait in a task.
    ///
    /// The closure is called by the rules of ``TokenProvider/fetchToken(for:within:clock:completion:)``.
    ///
    /// - Parameters:
    ///   - life: How long the token must live from now.
    ///   - subject: Whose token it is.
    ///   - limit: The longest wait, a year at most.
    ///   - clock: What the limit is measured with.
    ///   - completion: Gets how long the token in hand lives, or ``TokenClientError`` or `CancellationError`; on any queue.
    /// - Returns: The wait, to be cancelled by who no longer wants an answer.
    @discardableResult
    public func ensure(
        valid life: Duration,
        for subject: TokenSubject,
        within limit: Duration = .seconds(9),
        clock: some Clock<Duration> = ContinuousClock(),
        completion: @escaping @Sendable (Result<Duration, any Error>) -> Void
    ) -> Task<Void, Never> {
        Task {
            await tell(completion, within: limit, clock: clock) { try await self.ensure(valid: life, for: subject) }
        }
    }
}

/// Does some work and tells its outcome once, at the limit at the latest.
private func tell<Value: Sendable>(
    _ completion: @Sendable (Result<Value, any Error>) -> Void,
    within limit: Duration,
    clock: some Clock<Duration>,
    _ work: @escaping @Sendable () async throws -> Value
) async {
    completion(
        await firstOutcome(of: work) {
            (try? await clock.sleep(for: limit.waitable)).map {
                TokenClientError(code: .timedOut, message: "No token came within \(limit).")
            }
        })
}

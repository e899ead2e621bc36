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
    ///   - limit: The longest wait; the default lies below the drivers' reporting interval of 10 s.
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
            let (outcomes, sink) = AsyncStream.makeStream(
                of: Result<FleetToken, any Error>.self, bufferingPolicy: .bufferingOldest(1))
            let fetch = Task {
                do {
                    sink.yield(.success(try await self.token(for: subject)))
                } catch {
                    sink.yield(.failure(error))
                }
            }
            let alarm = Task {
                guard (try? await clock.sleep(for: limit)) != nil else { return }
                let error = TokenClientError(code: .timedOut, message: "No token came within \(limit).")
                sink.yield(.failure(error))
            }
            // A provider that never answers is left behind, which a task group could not do.
            let first = await outcomes.first { _ in true }
            fetch.cancel()
            alarm.cancel()
            completion(first ?? .failure(CancellationError()))
        }
    }
}

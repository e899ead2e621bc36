// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetTokens
import Foundation

/// Waits for the answer of a token fetcher that an app wrote for the SDKs' protocols.
///
/// Such fetchers may call the completion twice, from another thread, or not at all: the first call counts, and a
/// completion that was given up without a call ends the wait at once.
package final class AuthorizationAnswer: Sendable {
    private let sink: AsyncStream<Result<FleetToken, any Error>>.Continuation

    private init(_ sink: AsyncStream<Result<FleetToken, any Error>>.Continuation) {
        self.sink = sink
    }

    deinit {
        self.sink.finish()
    }

    /// Asks a fetcher and waits.
    ///
    /// - Parameter ask: Passes a completion on to the fetcher; runs on the caller's actor.
    /// - Returns: The token.
    /// - Throws: The fetcher's own error, `TokenClientError` with `invalidAnswer` when it breaks its contract, or
    ///   `CancellationError`.
    package static func token(
        asking ask: (@escaping @Sendable (String?, (any Error)?) -> Void) -> Void
    ) async throws -> FleetToken {
        let (answers, sink) = AsyncStream.makeStream(
            of: Result<FleetToken, any Error>.self, bufferingPolicy: .bufferingOldest(1))
        // Held by the completion only, so that it ends with the last copy of that.
        Self(sink).pass(to: ask)
        let first = await answers.first { _ in true }
        try Task.checkCancellation()
        guard let first else {
            throw Self.broken(
                "gave up its completion without a call; call it in every case, also when the owner is gone")
        }
        return try first.get()
    }

    private func pass(to ask: (@escaping @Sendable (String?, (any Error)?) -> Void) -> Void) {
        ask { token, error in
            if let error {
                self.sink.yield(.failure(Self.unwrapped(error)))
            } else if let token, !token.isEmpty {
                self.sink.yield(.success(FleetToken(token)))
            } else {
                self.sink.yield(.failure(Self.broken("completed with neither token nor error; pass one of them")))
            }
        }
    }

    /// What `SDKAuthorization` wrapped for Objective-C, where that says more than the wrapping.
    private static func unwrapped(_ error: any Error) -> any Error {
        let native = error as NSError
        guard !(error is TokenClientError), let cause = native.userInfo[NSUnderlyingErrorKey] as? any Error else {
            return error
        }
        let isProvidersOwn =
            native.domain == SDKAuthorizationError.domain
            && native.code == SDKAuthorizationError.Code.providerFailed.rawValue
        return cause is TokenClientError || isProvidersOwn ? cause : error
    }

    private static func broken(_ problem: String) -> TokenClientError {
        TokenClientError(code: .invalidAnswer, message: "The app's token fetcher \(problem).")
    }
}

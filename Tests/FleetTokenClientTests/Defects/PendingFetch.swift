// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation

/// How one call of a fetcher ended.
enum FetchResult: Sendable {
    case token(String)
    case failure(any Error)
    /// The completion got neither a token nor an error.
    case neither
    /// The completion got both.
    case both
    /// The fetcher let go of the completion without calling it.
    case dropped
    /// Nothing happened for as long as the world is patient.
    case nothing

    var token: String? {
        if case .token(let token) = self { token } else { nil }
    }

    /// The provider's error, which is the cause of what an SDK gets.
    var error: TokenClientError? {
        guard case .failure(let error) = self else { return nil }
        return error as? TokenClientError ?? (error as NSError).userInfo[NSUnderlyingErrorKey] as? TokenClientError
    }

    var isFailure: Bool {
        if case .failure = self { true } else { false }
    }
}

/// A call of a fetcher that is under way.
struct PendingFetch: Sendable {
    /// Watches a completion: how often it is called, from where, and whether it is forgotten.
    private final class Probe: Sendable {
        private let results: AsyncStream<FetchResult>.Continuation
        private let calls = Locked(0)
        private let onRepetition: @Sendable () -> Void

        init(_ results: AsyncStream<FetchResult>.Continuation, onRepetition: @escaping @Sendable () -> Void) {
            self.results = results
            self.onRepetition = onRepetition
        }

        deinit {
            if self.calls.withLock({ $0 }) == 0 { self.results.yield(.dropped) }
        }

        func complete(_ token: String?, _ error: (any Error)?) {
            let count = self.calls.withLock { calls in
                calls += 1
                return calls
            }
            guard count == 1 else { return self.onRepetition() }
            switch (token, error) {
            case (let token?, nil): self.results.yield(.token(token))
            case (nil, let error?): self.results.yield(.failure(error))
            case (nil, nil): self.results.yield(.neither)
            case (_?, _?): self.results.yield(.both)
            }
        }
    }

    /// Whether the completion was called before the call returned, on the same thread.
    let isSynchronous: Bool
    private let calledIn: Locked<CallPlace?>
    private let results: AsyncStream<FetchResult>
    private let patience: Duration

    init(
        _ fetcher: any FetcherUnderTest, _ context: FetcherContext?, patience: Duration,
        onRepetition: @escaping @Sendable () -> Void
    ) {
        let (results, continuation) = AsyncStream.makeStream(of: FetchResult.self)
        self.results = results
        self.patience = patience
        let caller = ThreadID.current
        let hasReturned = Locked(false)
        let wasSynchronous = Locked(false)
        let probe = Probe(continuation, onRepetition: onRepetition)
        let calledIn = Locked<CallPlace?>(nil)
        self.calledIn = calledIn
        fetcher.fetchToken(for: context) { token, error in
            // Only this very call can run on its thread before it returns.
            if ThreadID.current == caller, !hasReturned.withLock({ $0 }) { wasSynchronous.withLock { $0 = true } }
            calledIn.withLock { $0 = .current }
            probe.complete(token, error)
        }
        hasReturned.withLock { $0 = true }
        self.isSynchronous = wasSynchronous.withLock { $0 }
    }

    /// Where the completion was called, if it was.
    var place: CallPlace? { self.calledIn.withLock { $0 } }

    /// Waits for the end.
    var result: FetchResult {
        get async {
            await withTaskGroup(of: FetchResult?.self) { group in
                group.addTask { await self.results.first { _ in true } }
                // Time on the wall, because that nothing happens can be seen in no other way; a good fetcher's
                // completion ends the wait.
                group.addTask { (try? await Task.sleep(for: self.patience)).map { FetchResult.nothing } }
                let first = await group.first { $0 != nil } ?? nil
                group.cancelAll()
                return first ?? .nothing
            }
        }
    }
}

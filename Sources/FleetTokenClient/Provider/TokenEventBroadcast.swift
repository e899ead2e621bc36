// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Hands events to everybody who listens.
final class TokenEventBroadcast: Sendable {
    private struct State: Sendable {
        var listeners: [UInt64: AsyncStream<TokenEvent>.Continuation] = [:]
        var lastNumber: UInt64 = 0
    }

    private let state = Locked(State())

    deinit {
        self.finish()
    }

    func stream(bufferingNewest newest: Int) -> AsyncStream<TokenEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: TokenEvent.self, bufferingPolicy: .bufferingNewest(max(newest, 1)))
        let number = self.state.withLock { state in
            state.lastNumber += 1
            state.listeners[state.lastNumber] = continuation
            return state.lastNumber
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.listeners.removeValue(forKey: number) }
        }
        return stream
    }

    func send(_ event: TokenEvent) {
        for listener in self.state.withLock({ Array($0.listeners.values) }) { listener.yield(event) }
    }

    /// Ends every stream once its events are read.
    func finish() {
        for listener in self.state.withLock({ Array($0.listeners.values) }) { listener.finish() }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Hands what happens to everybody who listens.
package final class Broadcast<Element: Sendable>: Sendable {
    private struct State: Sendable {
        var listeners: [UInt64: AsyncStream<Element>.Continuation] = [:]
        var lastNumber: UInt64 = 0
    }

    private let state = Locked(State())

    /// Makes a broadcast to which nobody listens yet.
    package init() {}

    deinit {
        self.finish()
    }

    /// Adds a listener, who hears what is sent from now on.
    ///
    /// - Parameters:
    ///   - newest: How many elements wait for a slow reader; older ones are dropped.
    ///   - known: What the listener hears first.
    ///   - isOver: Whether nothing more will follow.
    /// - Returns: The listener's own stream.
    package func stream(
        bufferingNewest newest: Int, after known: [Element] = [], isOver: Bool = false
    ) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Element.self, bufferingPolicy: .bufferingNewest(max(newest, 1)))
        for element in known { continuation.yield(element) }
        guard !isOver else {
            continuation.finish()
            return stream
        }
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

    /// Tells everybody who listens.
    package func send(_ element: Element) {
        for listener in self.state.withLock({ Array($0.listeners.values) }) { listener.yield(element) }
    }

    /// Ends every stream once its elements are read; later ones are not concerned.
    package func finish() {
        for listener in self.state.withLock({ Array($0.listeners.values) }) { listener.finish() }
    }
}

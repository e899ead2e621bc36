// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
package import NIOCore

/// The requests that a service works on at once, with a limit.
///
/// A burst may wait its turn. A queue that stands is another matter: it makes everybody late for as long as the load
/// lasts, and serves nobody sooner. So who is more than ``Limits/burst`` is turned away, and from then on no more than
/// ``Limits/steady`` are worked on at once, until nobody has been turned away for ``Limits/calm``.
package final class PendingRequests: Sendable {
    /// How many requests are worked on at once.
    package struct Limits: Sendable {
        /// The most ever.
        package var burst: Int
        /// The most while others are turned away.
        package var steady: Int
        /// How long nobody is turned away before a burst is taken in again.
        package var calm: TimeAmount

        /// Describes limits.
        package init(burst: Int, steady: Int, calm: TimeAmount = .milliseconds(100)) {
            self.burst = burst
            self.steady = min(steady, burst)
            self.calm = calm
        }
    }

    private struct State {
        var count = 0
        var steadyUntil: NIODeadline?
        /// The connections, or streams, whose request has a place that nobody has taken over.
        var letIn: Set<ObjectIdentifier> = []
    }

    private let limits: Limits
    private let state = Locked(State())

    /// Starts at none.
    package init(_ limits: Limits) {
        self.limits = limits
    }

    /// How many are worked on now.
    package var count: Int { self.state.withLock(\.count) }

    /// Whether another one can be worked on; if not, it must be turned away.
    package func hasPlace(at time: NIODeadline) -> Bool { self.state.withLock { self.hasPlace(at: time, in: &$0) } }

    private func hasPlace(at time: NIODeadline, in state: inout State) -> Bool {
        let isSteady = state.steadyUntil.map { time < $0 } ?? false
        guard state.count >= (isSteady ? self.limits.steady : self.limits.burst) else { return true }
        state.steadyUntil = time + self.limits.calm
        return false
    }

    /// Is done with one whose place was taken over.
    package func end() { self.state.withLock { $0.count -= 1 } }

    /// Begins with the request of a connection, or of one stream of it, where there is a place; one at a time.
    ///
    /// - Parameters:
    ///   - channel: Its channel.
    ///   - time: The time now.
    /// - Returns: Whether there was one; if not, the request must be turned away.
    package func letIn(from channel: any Channel, at time: NIODeadline) -> Bool {
        self.state.withLock { state in
            guard self.hasPlace(at: time, in: &state) else { return false }
            state.count += 1
            state.letIn.insert(ObjectIdentifier(channel))
            return true
        }
    }

    /// Takes the place of a connection's request over, for as long as the request is worked on.
    ///
    /// - Parameter channel: The channel of the connection, or of one stream of it.
    /// - Returns: Whether there is one; whoever took it over calls ``end()``.
    package func takeOver(from channel: any Channel) -> Bool {
        self.state.withLock { $0.letIn.remove(ObjectIdentifier(channel)) != nil }
    }

    /// Is done with the request of a connection, unless its place was taken over.
    ///
    /// - Parameter channel: The channel of the connection, or of one stream of it.
    func giveBack(from channel: any Channel) {
        self.state.withLock { state in
            if state.letIn.remove(ObjectIdentifier(channel)) != nil { state.count -= 1 }
        }
    }
}

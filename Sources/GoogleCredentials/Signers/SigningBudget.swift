// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens

/// The signing calls that a project may make in a minute, shared by all signers of the process.
///
/// The service counts `signJwt` and `signBlob` together, 60,000 a minute for each project. Every attempt counts here,
/// retries and hedges included. When little is left, the budget says so, and a token server can spread the times at
/// which its clients come back.
public final class SigningBudget: Sendable {
    /// The calls that Google allows a project in a minute.
    public static let defaultCallsPerMinute = 60_000
    /// One more than a minute has, as most minutes begin and end within a second.
    private static let seconds = 61

    private struct State: Sendable {
        /// The calls of the present second and of each of the 60 before it; the second decides the place.
        var counts = [Int](repeating: 0, count: seconds)
        var total = 0
        var second: Int64 = 0

        mutating func advance(to second: Int64) {
            let passed = min(second - self.second, Int64(SigningBudget.seconds))
            guard passed > 0 else { return }
            for step in 0..<passed {
                let place = Int((second - step) % Int64(SigningBudget.seconds))
                self.total -= self.counts[place]
                self.counts[place] = 0
            }
            self.second = second
        }
    }

    /// The calls allowed in any minute.
    public let callsPerMinute: Int

    private let state = Locked(State())
    private let time: TimeSource

    /// Makes a budget.
    ///
    /// - Parameters:
    ///   - callsPerMinute: The calls allowed in any minute; this process's share where several sign for one project.
    ///   - clock: Measures the minute.
    public init(
        callsPerMinute: Int = SigningBudget.defaultCallsPerMinute, clock: some Clock<Duration> = ContinuousClock()
    ) {
        self.callsPerMinute = max(callsPerMinute, 1)
        self.time = TimeSource(clock: clock)
    }

    /// The calls left in the present minute.
    public var remaining: Int { self.update { self.callsPerMinute - $0.total } }

    /// Whether less than a fifth of the calls is left, so that refreshes should be spread wider.
    public var isLow: Bool { self.remaining < self.callsPerMinute / 5 }

    /// Takes one call, or refuses.
    ///
    /// - Throws: ``CredentialError`` with ``CredentialError/Code/quotaExhausted``.
    func spend() throws(CredentialError) {
        let isAllowed = self.update { state in
            guard state.total < self.callsPerMinute else { return false }
            state.counts[Int(state.second % Int64(Self.seconds))] += 1
            state.total += 1
            return true
        }
        guard isAllowed else {
            throw CredentialError(
                code: .quotaExhausted,
                message: "The \(self.callsPerMinute) signing calls of this minute are used up; spread the refreshes, or"
                    + " sign with a local key.",
                retryAfter: .seconds(1)
            )
        }
    }

    /// Looks at the state of the present second, or changes it.
    private func update<Result: Sendable>(_ change: (inout State) -> Result) -> Result {
        let second = self.time.uptime.components.seconds
        return self.state.withLock { state in
            state.advance(to: second)
            return change(&state)
        }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Keeps callers away from a part that fails, and lets one of them look from time to time whether it has recovered.
package struct CircuitBreaker: Sendable {
    /// One caller's leave to go, with which it tells what became of its call.
    package struct Pass: Sendable {
        fileprivate let era: Int
    }

    /// How many failures in a row open it.
    static let failuresToOpen = 3
    private static let pauses = Backoff(first: .seconds(1), longest: .seconds(30))

    private var failures = 0
    private var pausedUntil: Duration?
    private var isProbing = false
    /// Changes when the breaker opens or closes and when somebody is sent to look; passes of before count no more.
    private var era = 0

    /// Lets callers through until something fails.
    package init() {}

    /// Whether callers are kept away, but for one who looks.
    package var isOpen: Bool { self.pausedUntil != nil }

    /// Lets a caller go, or not; when the breaker is open and the pause is over, one caller at a time may.
    package mutating func admit(at now: Duration) -> Pass? {
        guard let pausedUntil else { return Pass(era: self.era) }
        guard now >= pausedUntil, !self.isProbing else { return nil }
        self.isProbing = true
        self.era += 1
        return Pass(era: self.era)
    }

    /// What was asked answered, whoever asked.
    package mutating func succeed() {
        if self.isOpen { self.era += 1 }
        self.failures = 0
        self.pausedUntil = nil
        self.isProbing = false
    }

    /// What was asked did not answer; three times in a row open the breaker.
    package mutating func fail(_ pass: Pass, at now: Duration) {
        guard pass.era == self.era else { return }
        self.isProbing = false
        self.failures += 1
        guard self.failures >= Self.failuresToOpen else { return }
        self.pausedUntil = now + Self.pauses.pause(afterFailures: self.failures - Self.failuresToOpen + 1)
        self.era += 1
    }

    /// The caller has learned nothing.
    package mutating func abandon(_ pass: Pass) {
        if pass.era == self.era { self.isProbing = false }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Keeps callers away from a part that fails, and lets one of them look from time to time whether it has recovered.
package struct CircuitBreaker: Sendable {
    /// How many failures in a row open it.
    static let failuresToOpen = 3
    static let firstPause: Duration = .seconds(1)
    static let longestPause: Duration = .seconds(30)

    private var failures = 0
    private var pausedUntil: Duration?
    private var isProbing = false

    /// Lets callers through until something fails.
    package init() {}

    /// Whether callers are kept away, but for one who looks.
    package var isOpen: Bool { self.pausedUntil != nil }

    /// Whether a caller may go; when the breaker is open and the pause is over, one caller at a time may.
    package mutating func admit(at now: Duration) -> Bool {
        guard let pausedUntil else { return true }
        guard now >= pausedUntil, !self.isProbing else { return false }
        self.isProbing = true
        return true
    }

    /// What was asked answered.
    package mutating func succeed() {
        self = Self()
    }

    /// What was asked did not answer; three times in a row open the breaker.
    package mutating func fail(at now: Duration) {
        self.isProbing = false
        self.failures += 1
        let opened = self.failures - Self.failuresToOpen
        guard opened >= 0 else { return }
        self.pausedUntil = now + min(Self.firstPause * (1 << min(opened, 16)), Self.longestPause)
    }

    /// The caller went away before there was a result.
    package mutating func abandon() {
        self.isProbing = false
    }
}

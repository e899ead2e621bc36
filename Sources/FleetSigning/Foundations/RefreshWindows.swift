// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// When a value with an end is renewed.
///
/// There are two windows before the end. In the advisory one the value is handed out at once and renewed in the
/// background; in the mandatory one callers wait for the new value. Where renewal fails, the old value serves until it
/// ends, and after a pause the next caller tries again: no failure is final.
package struct RefreshWindows: Hashable, Sendable {
    /// How long before the end renewal starts in the background.
    package var advisory: Duration
    /// How long before the end callers wait for renewal.
    package var mandatory: Duration
    /// By how much at most the start of the advisory window is put off, so that many processes do not renew at once.
    package var jitter: Duration
    /// The pause after the first failure; it doubles with each further one.
    package var firstPause: Duration
    /// The longest pause, which is also the longest time that a recovery goes unnoticed.
    package var longestPause: Duration

    /// Makes windows.
    package init(
        advisory: Duration, mandatory: Duration, jitter: Duration, firstPause: Duration = .seconds(1),
        longestPause: Duration = .seconds(10)
    ) {
        self.advisory = advisory
        self.mandatory = mandatory
        self.jitter = jitter
        self.firstPause = firstPause
        self.longestPause = longestPause
    }

    /// For access tokens of Google, which metadata servers renew no earlier than four minutes before the end.
    package static let accessToken = Self(advisory: .seconds(225), mandatory: .seconds(60), jitter: .seconds(45))

    /// For Fleet Engine tokens, which must have five minutes left when they are handed out.
    package static let fleetToken = Self(advisory: .seconds(900), mandatory: .seconds(300), jitter: .seconds(300))
}

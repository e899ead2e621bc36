// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import NIOCore

extension Optional<Scheduled<Void>> {
    /// Cancels what is scheduled, if it was not cancelled before.
    ///
    /// Each cancelling looks through all that the event loop has scheduled, also for what is gone already; where thousands
    /// of connections end together, that keeps others waiting.
    package mutating func cancelOnce() {
        self?.cancel()
        self = nil
    }
}

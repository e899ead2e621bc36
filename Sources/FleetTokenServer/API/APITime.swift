// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
package import Foundation

/// The times of the API and of commands: RFC 3339.
package enum APITime {
    /// A time in whole seconds, in UTC.
    static func text(_ date: Date) -> String {
        date.formatted(.iso8601)
    }

    /// Reads a time such as `2026-01-31T14:05:00Z`, with or without a fraction of a second, or with an offset such as
    /// `+02:00`; `T` and `Z` may be in lower case.
    ///
    /// - Parameter text: The time.
    /// - Returns: The time. `nil` for anything else than this form: a day that is in no calendar, a leap second (`:60`),
    ///   which Unix time does not tell from the next one, a time without its zone, and years other than 1 to 9999 in UTC.
    package static func date(_ text: String) -> Date? {
        guard text.utf8.count <= 64, let date = RFC3339.date(text, isStrict: true) else { return nil }
        return (-62_135_596_800...253_402_300_799).contains(date.timeIntervalSince1970) ? date : nil
    }
}

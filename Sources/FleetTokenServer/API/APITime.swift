// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
package import Foundation

/// The times of the API and of commands: RFC 3339.
package enum APITime {
    /// The years 1 to 9999, in seconds since 1970.
    private static let range = -62_135_596_800.0...253_402_300_799

    /// A time in UTC, cut to whole seconds; of another year than 1 to 9999, the nearest of those.
    ///
    /// It is of the calendar that ``date(_:)`` reads, the Gregorian one also before 1582.
    package static func text(_ date: Date) -> String {
        let seconds = min(max(Self.range.lowerBound, date.timeIntervalSince1970.rounded(.down)), Self.range.upperBound)
        var text: [UInt8] = []
        text.append(time: Int(seconds))
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads a time such as `2026-01-31T14:05:00Z`, with or without a fraction of a second, or with an offset such as
    /// `+02:00`; `T` and `Z` may be in lower case.
    ///
    /// - Parameter text: The time.
    /// - Returns: The time. `nil` for anything else than this form: a day that is in no calendar, a leap second (`:60`),
    ///   which Unix time does not tell from the next one, a time without its zone, and years other than 1 to 9999 in UTC.
    package static func date(_ text: String) -> Date? {
        guard text.utf8.count <= 64, let date = RFC3339.date(text, isStrict: true) else { return nil }
        return Self.range.contains(date.timeIntervalSince1970) ? date : nil
    }
}

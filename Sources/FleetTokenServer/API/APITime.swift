// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The API's times: RFC 3339 in UTC.
enum APITime {
    /// A time in whole seconds.
    static func text(_ date: Date) -> String {
        date.formatted(.iso8601)
    }

    /// Reads a time, with or without a fraction of a second; `nil` for text that is none, and for years without four
    /// digits.
    static func date(_ text: String) -> Date? {
        guard text.utf8.count <= 64 else { return nil }
        let text = text.uppercased()
        let date =
            (try? Date(text, strategy: .iso8601))
            ?? (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
        guard let date, (-62_135_596_800...253_402_300_799).contains(date.timeIntervalSince1970) else { return nil }
        return date
    }
}

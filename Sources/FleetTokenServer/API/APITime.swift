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
        guard text.utf8.count <= 64 else { return nil }
        var rest = Array(text.utf8)[...]
        func number(_ digits: Int, in range: ClosedRange<Int64>) -> Int64? {
            let part = rest.prefix(digits)
            guard part.count == digits, part.allSatisfy(Self.isDigit) else { return nil }
            rest = rest.dropFirst(digits)
            let value = part.reduce(Int64(0)) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
            return range.contains(value) ? value : nil
        }
        func skip(_ characters: String) -> UInt8? {
            guard let first = rest.first, characters.utf8.contains(first) else { return nil }
            rest = rest.dropFirst()
            return first
        }

        guard let year = number(4, in: 1...9999), skip("-") != nil, let month = number(2, in: 1...12),
            skip("-") != nil, let day = number(2, in: 1...Self.lastDay(of: month, in: year)), skip("Tt") != nil,
            let hour = number(2, in: 0...23), skip(":") != nil, let minute = number(2, in: 0...59),
            skip(":") != nil, let second = number(2, in: 0...59)
        else { return nil }

        var fraction = 0.0
        if skip(".") != nil {
            let digits = rest.prefix(while: Self.isDigit)
            guard let value = Double("0." + String(decoding: digits, as: UTF8.self)), !digits.isEmpty else {
                return nil
            }
            fraction = value
            rest = rest.dropFirst(digits.count)
        }

        var offset: Int64 = 0
        if let sign = skip("+-") {
            guard let hours = number(2, in: 0...23), skip(":") != nil, let minutes = number(2, in: 0...59) else {
                return nil
            }
            offset = (hours * 60 + minutes) * (sign == UInt8(ascii: "-") ? -60 : 60)
        } else if skip("Zz") == nil {
            return nil
        }
        guard rest.isEmpty else { return nil }

        let days = HTTPDate.days(year: year, month: month, day: day)
        let seconds = TimeInterval(days * 86_400 + hour * 3_600 + minute * 60 + second - offset) + fraction
        return (-62_135_596_800...253_402_300_799).contains(seconds) ? Date(timeIntervalSince1970: seconds) : nil
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func lastDay(of month: Int64, in year: Int64) -> Int64 {
        let next =
            month == 12
            ? HTTPDate.days(year: year + 1, month: 1, day: 1) : HTTPDate.days(year: year, month: month + 1, day: 1)
        return next - HTTPDate.days(year: year, month: month, day: 1)
    }
}

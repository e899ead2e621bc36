// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import Foundation

/// Times as the engine's JSON and GPX write them.
package enum RFC3339 {
    /// Reads `2025-02-05T17:02:32.543Z`, with any number of fraction digits, or an offset such as `+02:00`.
    ///
    /// A time without zone is read as UTC, which is what GPX asks for.
    ///
    /// - Parameter text: The time, without white space round it.
    /// - Returns: The time, or `nil` when the text is not one.
    package static func date(_ text: some StringProtocol) -> Date? {
        var rest = Array(text.utf8)[...]
        func number(_ digits: Int, within range: ClosedRange<Int>) -> Int? {
            guard rest.count >= digits else { return nil }
            var value = 0
            for byte in rest.prefix(digits) {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                value = value * 10 + Int(byte - UInt8(ascii: "0"))
            }
            rest = rest.dropFirst(digits)
            return range.contains(value) ? value : nil
        }
        func skip(_ characters: String) -> Bool {
            guard let first = rest.first, characters.utf8.contains(first) else { return false }
            rest = rest.dropFirst()
            return true
        }

        guard let year = number(4, within: 1...9999), skip("-"), let month = number(2, within: 1...12), skip("-"),
            let day = number(2, within: 1...Self.days(in: month, of: year)), skip("Tt"),
            let hour = number(2, within: 0...23), skip(":"), let minute = number(2, within: 0...59), skip(":"),
            let second = number(2, within: 0...60)
        else { return nil }

        var fraction = 0.0
        if skip(".") {
            let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            guard !digits.isEmpty, let value = Double("0." + String(decoding: digits, as: UTF8.self)) else {
                return nil
            }
            fraction = value
            rest = rest.dropFirst(digits.count)
        }

        var offset = 0
        if !skip("Zz"), let sign = rest.first {
            guard skip("+-"), let hours = number(2, within: 0...23), skip(":"), let minutes = number(2, within: 0...59)
            else { return nil }
            offset = (hours * 60 + minutes) * (sign == UInt8(ascii: "-") ? -60 : 60)
        }
        guard rest.isEmpty else { return nil }

        let seconds = Self.daysSince1970(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - offset
        return Date(timeIntervalSince1970: Double(seconds) + fraction)
    }

    /// Whether a time can be written: it lies in the years 1 to 9999.
    package static func canWrite(_ date: Date) -> Bool {
        (Self.earliest...Self.latest).contains(date.timeIntervalSince1970 * 1_000)
    }

    private static let earliest = -62_135_596_800_000.0
    private static let latest = 253_402_300_799_999.0

    /// Writes a time in UTC with milliseconds; one that cannot be written, as the nearest that can be.
    package static func text(_ date: Date) -> String {
        // In this order, what is not a number becomes the earliest.
        let milliseconds = Int(min(max(Self.earliest, (date.timeIntervalSince1970 * 1_000).rounded()), Self.latest))
        let (days, time) = Self.divide(milliseconds, by: 86_400_000)
        let (year, month, day) = Self.civil(daysSince1970: days)
        func padded(_ value: Int, _ width: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(0, width - text.count)) + text
        }
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T\(padded(time / 3_600_000, 2)):"
            + "\(padded(time / 60_000 % 60, 2)):\(padded(time / 1_000 % 60, 2)).\(padded(time % 1_000, 3))Z"
    }

    // MARK: - Calendar

    private static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    // Years are counted from March, so that the leap day is the last of its year.
    private static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = Self.divide(year, by: 400)
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(daysSince1970 days: Int) -> (year: Int, month: Int, day: Int) {
        let (era, dayOfEra) = Self.divide(days + 719_468, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }

    private static func divide(_ value: Int, by divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

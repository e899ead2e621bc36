// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Reads the date format of HTTP headers.
package enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// The Unix seconds of an IMF-fixdate such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7), or `nil`.
    ///
    /// The two obsolete formats, which no current server writes, are not read.
    package static func unixSeconds(_ text: String) -> Int64? {
        let words = text.split(separator: " ")
        guard words.count == 6, words[0].hasSuffix(","), words[5] == "GMT",
            let day = Self.number(words[1], in: 1...31),
            let month = Self.months.firstIndex(of: String(words[2])),
            let year = Self.number(words[3], in: 1970...9999)
        else { return nil }
        let clock = words[4].split(separator: ":", omittingEmptySubsequences: false)
        guard clock.count == 3,
            let hour = Self.number(clock[0], in: 0...23),
            let minute = Self.number(clock[1], in: 0...59),
            let second = Self.number(clock[2], in: 0...60)
        else { return nil }
        return self.days(year: year, month: Int64(month + 1), day: day) * 86_400 + hour * 3600 + minute * 60 + second
    }

    private static func number(_ text: Substring, in range: ClosedRange<Int64>) -> Int64? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(text) else { return nil }
        return range.contains(number) ? number : nil
    }

    /// The days from 1970-01-01 to a day of the Gregorian calendar, of a year from 1 on; years start in March here, so
    /// leap days come last.
    package static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = shiftedYear / 400
        let yearOfEra = shiftedYear % 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}

// MARK: - Writing

extension HTTPDate {
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]

    /// The IMF-fixdate for a time between 1970 and 9999; others are brought into that range.
    package static func text(unixSeconds: Int64) -> String {
        let unixSeconds = min(max(unixSeconds, 0), 253_402_300_799)
        let day = unixSeconds / 86_400
        let second = unixSeconds % 86_400
        let date = Self.civil(daysSinceEpoch: day)
        func padded(_ number: Int64, to width: Int = 2) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(width - text.count, 0)) + text
        }
        let weekday = Self.weekdays[Int(day % 7)]
        let clock = [second / 3600, second / 60 % 60, second % 60].map { padded($0) }.joined(separator: ":")
        return
            "\(weekday), \(padded(date.day)) \(Self.months[Int(date.month) - 1]) \(padded(date.year, to: 4)) \(clock) GMT"
    }

    private static func civil(daysSinceEpoch: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = daysSinceEpoch + 719_468
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + shifted / 146_097 * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}

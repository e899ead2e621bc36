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
        let days = CivilDate(year: year, month: month + 1, day: day).daysSince1970
        return Int64(days * 86_400 + hour * 3600 + minute * 60 + second)
    }

    private static func number(_ text: Substring, in range: ClosedRange<Int>) -> Int? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text) else { return nil }
        return range.contains(number) ? number : nil
    }
}

// MARK: - Writing

extension HTTPDate {
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]

    /// The IMF-fixdate for a time between 1970 and 9999; others are brought into that range.
    package static func text(unixSeconds: Int64) -> String {
        let (days, time) = Int(min(max(unixSeconds, 0), 253_402_300_799)).floored(by: 86_400)
        let date = CivilDate(daysSince1970: days)
        let clock = [time / 3600, time / 60 % 60, time % 60].map { $0.padded(to: 2) }.joined(separator: ":")
        return "\(Self.weekdays[days % 7]), \(date.day.padded(to: 2)) \(Self.months[date.month - 1]) "
            + "\(date.year.padded(to: 4)) \(clock) GMT"
    }
}

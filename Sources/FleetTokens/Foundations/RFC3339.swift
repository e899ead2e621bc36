// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import Foundation

/// Times as JSON and GPX write them.
package enum RFC3339 {
    /// Reads `2025-02-05T17:02:32.543Z`, with any number of fraction digits, or an offset such as `+02:00`; `T` and `Z`
    /// may be in lower case.
    ///
    /// - Parameters:
    ///   - text: The time, without white space round it.
    ///   - isStrict: Whether what can be taken in two ways is refused: a time without zone, which is UTC otherwise, as
    ///     GPX asks for, and a leap second (`:60`), which Unix time does not tell from the next one.
    /// - Returns: The time, or `nil` when the text is not one.
    package static func date(_ text: some StringProtocol, isStrict: Bool = false) -> Date? {
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
            let day = number(2, within: 1...CivilDate.days(in: month, of: year)), skip("Tt"),
            let hour = number(2, within: 0...23), skip(":"), let minute = number(2, within: 0...59), skip(":"),
            let second = number(2, within: 0...(isStrict ? 59 : 60))
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
        if !skip("Zz"), isStrict || !rest.isEmpty {
            let sign = rest.first
            guard skip("+-"), let hours = number(2, within: 0...23), skip(":"), let minutes = number(2, within: 0...59)
            else { return nil }
            offset = (hours * 60 + minutes) * (sign == UInt8(ascii: "-") ? -60 : 60)
        }
        guard rest.isEmpty else { return nil }

        let days = CivilDate(year: year, month: month, day: day).daysSince1970
        let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - offset
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
        let (seconds, fraction) = milliseconds.floored(by: 1_000)
        var text: [UInt8] = []
        text.reserveCapacity(24)
        text.append(time: seconds)
        text.append(UInt8(ascii: "."))
        text.append(fraction, digits: 3)
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text, as: UTF8.self)
    }
}

extension [UInt8] {
    /// Appends a time in UTC up to its second, as `2026-01-31T12:00:00`; a fraction and the zone are to follow.
    ///
    /// - Parameter seconds: The seconds since 1970, of a time in the years 0 to 9999.
    package mutating func append(time seconds: Int) {
        let (days, second) = seconds.floored(by: 86_400)
        let date = CivilDate(daysSince1970: days)
        self.append(date.year, digits: 4)
        self.append("-", date.month)
        self.append("-", date.day)
        self.append("T", second / 3_600)
        self.append(":", second / 60 % 60)
        self.append(":", second % 60)
    }

    private mutating func append(_ mark: Unicode.Scalar, _ number: Int) {
        self.append(UInt8(ascii: mark))
        self.append(number, digits: 2)
    }

    /// Appends the last digits of a number that is not negative, with zeros before it up to their count.
    package mutating func append(_ number: Int, digits: Int) {
        guard digits > 0 else { return }
        self.append(number / 10, digits: digits - 1)
        self.append(UInt8(ascii: "0") + UInt8(number % 10))
    }
}

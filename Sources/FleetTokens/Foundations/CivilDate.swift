// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A day of the Gregorian calendar, which is continued to before it was introduced.
struct CivilDate: Equatable {
    let year: Int
    /// From 1 to 12.
    let month: Int
    /// From 1 on.
    let day: Int

    init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// The day that is so many after 1970-01-01, or before.
    init(daysSince1970 days: Int) {
        let (era, dayOfEra) = (days + 719_468).floored(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        self.month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        self.year = era * 400 + yearOfEra + (self.month <= 2 ? 1 : 0)
        self.day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    }

    /// The days from 1970-01-01 to this one.
    var daysSince1970: Int {
        // Years are counted from March, so that the leap day is the last of its year.
        let (era, yearOfEra) = (self.month <= 2 ? self.year - 1 : self.year).floored(by: 400)
        let dayOfYear = (153 * ((self.month + 9) % 12) + 2) / 5 + self.day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// How many days a month has.
    static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension Int {
    /// The quotient, rounded down, and the remainder, which is not negative.
    func floored(by divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = self.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    /// The digits of a number that is not negative, with zeros before them up to a width.
    func padded(to width: Int) -> String {
        let digits = String(self)
        return String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits
    }
}

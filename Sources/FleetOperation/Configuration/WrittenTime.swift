// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A time as files have it: a whole number and a unit, such as `75s` or `500ms`.
package enum WrittenTime {
    /// What follows the number.
    package enum Unit: String, Sendable {
        case milliseconds = "ms"
        case seconds = "s"
        case minutes = "m"
        case hours = "h"
        case days = "d"

        /// How many milliseconds one is.
        package var milliseconds: Int64 {
            switch self {
            case .milliseconds: 1
            case .seconds: 1000
            case .minutes: 60_000
            case .hours: 3_600_000
            case .days: 86_400_000
            }
        }
    }

    /// The largest number, a day in the smallest unit.
    private static let maximum: Int64 = 86_400_000

    /// Reads a time.
    ///
    /// - Parameters:
    ///   - text: Digits and the unit.
    ///   - units: The units that it may have.
    /// - Returns: The time, never negative; `nil` for what is none.
    package static func read(_ text: some StringProtocol, in units: Set<Unit>) -> Duration? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int64(digits), number <= self.maximum,
            let unit = Unit(rawValue: String(text.dropFirst(digits.count))), units.contains(unit)
        else { return nil }
        return .milliseconds(number * unit.milliseconds)
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftProtobuf

extension Google_Protobuf_Timestamp {
    /// The time in whole microseconds, as the service stamps it.
    init(stamping date: Date) {
        let microseconds = (date.timeIntervalSince1970 * 1e6).rounded()
        guard microseconds.isFinite, abs(microseconds) < 9e18 else {
            self.init()
            return
        }
        let total = Int64(microseconds)
        let seconds = total >= 0 ? total / 1_000_000 : (total - 999_999) / 1_000_000
        self.init(seconds: seconds, nanos: Int32(total - seconds * 1_000_000) * 1000)
    }

    /// The seconds of the times that can be told, which are those of the years 1 to 9999.
    private static var tellable: ClosedRange<Int64> { -62_135_596_800...253_402_300_799 }

    /// The time so much later, or the last or first that can be told.
    func advanced(by duration: Duration) -> Self {
        let (seconds, attoseconds) = duration.components
        let nanos = Int64(self.nanos) + attoseconds / 1_000_000_000
        let carry = nanos >= 0 ? nanos / 1_000_000_000 : (nanos - 999_999_999) / 1_000_000_000
        let (sum, isTooFar) = self.seconds.addingReportingOverflow(seconds)
        let later = isTooFar ? (seconds > 0 ? Int64.max - 1 : Int64.min + 1) : sum
        return Self(
            seconds: min(max(later &+ carry, Self.tellable.lowerBound), Self.tellable.upperBound),
            nanos: Int32(truncatingIfNeeded: nanos - carry * 1_000_000_000)
        )
    }

    /// The version of what changes now: later than the former one, whatever became of the clock since.
    static func version(after former: Self, at now: Self) -> Self {
        let next = former.advanced(by: .microseconds(1))
        return now < next ? next : now
    }

    /// The time that passes until another.
    func duration(to later: Self) -> Duration {
        .seconds(later.seconds &- self.seconds) + .nanoseconds(Int64(later.nanos) - Int64(self.nanos))
    }

    /// Checks that the time can be told: what cannot be would break every later response in JSON.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    func check(_ field: String) throws(EngineError) {
        guard Self.tellable.contains(self.seconds), (0...999_999_999).contains(self.nanos) else {
            throw .invalidArgument("\(field) is not a time between the years 1 and 9999.", field: field)
        }
    }

    static func < (left: Self, right: Self) -> Bool {
        (left.seconds, left.nanos) < (right.seconds, right.nanos)
    }
}

extension Google_Protobuf_Duration {
    /// A duration in the form of the wire, in whole microseconds.
    init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self.init(seconds: seconds, nanos: Int32(attoseconds / 1_000_000_000_000) * 1000)
    }

    /// Checks that the duration is not negative and can be told.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    func check(_ field: String) throws(EngineError) {
        guard (0...Self.maximumSeconds).contains(self.seconds), (0...999_999_999).contains(self.nanos) else {
            throw .invalidArgument("\(field) is negative or longer than a year.", field: field)
        }
    }

    private static var maximumSeconds: Int64 { 366 * 86_400 }
}

extension Duration {
    /// A duration from the wire, or the longest or shortest that the wire allows; what is longer than `Int64` seconds has
    /// no components, and asking for them would end the process.
    init(_ duration: Google_Protobuf_Duration) {
        let longest: Int64 = 315_576_000_000
        self = .seconds(min(max(duration.seconds, -longest), longest)) + .nanoseconds(Int64(duration.nanos))
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import SwiftProtobuf

/// The numbers and times that are others in each answer, appended to JSON that is there already.
///
/// The library writes them alike, each by way of a message and several texts of its own.
extension [UInt8] {
    /// Appends a number.
    mutating func append(_ value: Google_Protobuf_Int32Value) {
        self += String(value.value).utf8
    }

    /// Appends a time, as `"2026-01-31T12:00:00.500Z"`.
    ///
    /// - Throws: ``EngineError`` with `INTERNAL`, for a time outside the years 1 to 9999.
    mutating func append(_ time: Google_Protobuf_Timestamp) throws(EngineError) {
        guard (-62_135_596_800...253_402_300_799).contains(time.seconds), (0..<1_000_000_000).contains(time.nanos)
        else {
            throw MessageJSON.unwritable
        }
        self.append(UInt8(ascii: "\""))
        self.append(time: Int(time.seconds))
        self.append(fraction: Int(time.nanos))
        self += "Z\"".utf8
    }

    /// Appends a duration, as `"90.500s"`.
    ///
    /// - Throws: ``EngineError`` with `INTERNAL`, for one of more than 10,000 years, or whose parts differ in sign.
    mutating func append(_ duration: Google_Protobuf_Duration) throws(EngineError) {
        let (seconds, nanos) = (duration.seconds, duration.nanos)
        guard seconds.magnitude <= 315_576_000_000, nanos.magnitude < 1_000_000_000,
            seconds.signum() * Int64(nanos.signum()) >= 0
        else { throw MessageJSON.unwritable }
        self.append(UInt8(ascii: "\""))
        if seconds < 0 || nanos < 0 { self.append(UInt8(ascii: "-")) }
        self += String(seconds.magnitude).utf8
        self.append(fraction: Int(nanos.magnitude))
        self += "s\"".utf8
    }

    /// Appends a point and milli-, micro- or nanoseconds, as many digits as are needed; nothing for a whole second.
    private mutating func append(fraction nanos: Int) {
        guard nanos > 0 else { return }
        self.append(UInt8(ascii: "."))
        switch (nanos % 1_000_000, nanos % 1_000) {
        case (0, _): self.append(nanos / 1_000_000, digits: 3)
        case (_, 0): self.append(nanos / 1_000, digits: 6)
        default: self.append(nanos, digits: 9)
        }
    }
}

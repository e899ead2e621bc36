// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import SwiftProtobuf

/// What stays of a vehicle while it drives, in its binary form: a report writes no more than what it changes.
///
/// The fields of a message may stand in any order, so what a report changes follows what stays.
struct LastingBytes: Sendable {
    /// How long the binary form of a vehicle may be of which this is kept: one with a long way is rather written again.
    static let maximumCount = 1024

    /// The vehicle as it was written last.
    private var vehicle: Vehicle
    /// Made when they are wanted, as most vehicles of a large fleet have no second report before they are forgotten.
    private var bytes: [UInt8]?

    init(_ vehicle: Vehicle) {
        self.vehicle = vehicle
    }

    /// The binary form of a vehicle that is written next; `nil` where more is changed than what reports change.
    ///
    /// - Throws: An error of the library.
    mutating func serialized(_ vehicle: Vehicle) throws -> Data? {
        guard vehicle.differsByReportOnly(from: self.vehicle) else { return nil }
        let lasting: [UInt8] = try self.bytes ?? vehicle.unreported.serializedBytes()
        self.bytes = lasting
        // What is compared with next is what is looked at last, and what was before is kept no longer.
        self.vehicle = vehicle
        var all = lasting
        all.reserveCapacity(lasting.count + 256)
        if vehicle.hasLastLocation { all.append(try vehicle.lastLocation.serializedBytes(), ofField: 5) }
        if vehicle.hasRemainingDistanceMeters {
            all.append(try vehicle.remainingDistanceMeters.serializedBytes(), ofField: 18)
        }
        if vehicle.hasEtaToFirstWaypoint { all.append(try vehicle.etaToFirstWaypoint.serializedBytes(), ofField: 19) }
        return Data(all)
    }
}

extension [UInt8] {
    /// Appends a message as a field of another.
    fileprivate mutating func append(_ message: [UInt8], ofField number: Int) {
        // Two is the type of what has a length.
        self.append(varint: number << 3 | 2)
        self.append(varint: message.count)
        self += message
    }

    private mutating func append(varint value: Int) {
        var rest = value
        while rest > 0x7f {
            self.append(UInt8(rest & 0x7f | 0x80))
            rest >>= 7
        }
        self.append(UInt8(rest))
    }
}

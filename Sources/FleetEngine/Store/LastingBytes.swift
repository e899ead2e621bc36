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

    /// Made when they are wanted, as most vehicles of a large fleet have no second report before they are forgotten.
    private var bytes: [UInt8]?

    /// The binary form of a vehicle that is written next, and differs by a report only from that before.
    ///
    /// - Throws: An error of the library.
    mutating func serialized(_ vehicle: Vehicle) throws -> Data {
        let lasting: [UInt8] = try self.bytes ?? vehicle.unreported.serializedBytes()
        self.bytes = lasting
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

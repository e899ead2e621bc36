// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Foundation
import SwiftProtobuf

/// What stays of a vehicle while it drives, in its binary form: a report writes no more than what it changes.
///
/// The fields of a message may stand in any order, so what a report changes follows what stays.
final class LastingBytes: Sendable {
    /// How long the binary form of a vehicle may be of which this is kept: one with a long way is rather written again.
    static let maximumCount = 1024

    private let vehicle: Vehicle
    /// Made when they are wanted, as most vehicles of a large fleet have no second report before they are forgotten.
    private let bytes = Locked<Data?>(nil)

    init(_ vehicle: Vehicle) {
        self.vehicle = vehicle
    }

    /// The binary form of a vehicle; `nil` where more is changed than what reports change.
    ///
    /// - Throws: An error of the library.
    func serialized(_ vehicle: Vehicle) throws -> Data? {
        guard vehicle.differsByReportOnly(from: self.vehicle) else { return nil }
        var all = try self.lasting()
        if vehicle.hasLastLocation { all.append(try vehicle.lastLocation.serializedBytes(), ofField: 5) }
        if vehicle.hasRemainingDistanceMeters {
            all.append(try vehicle.remainingDistanceMeters.serializedBytes(), ofField: 18)
        }
        if vehicle.hasEtaToFirstWaypoint { all.append(try vehicle.etaToFirstWaypoint.serializedBytes(), ofField: 19) }
        return all
    }

    private func lasting() throws -> Data {
        if let known = self.bytes.withLock(\.self) { return known }
        let bytes: Data = try self.vehicle.unreported.serializedBytes()
        self.bytes.withLock { $0 = bytes }
        return bytes
    }
}

extension Data {
    /// Appends a message as a field of another.
    fileprivate mutating func append(_ message: [UInt8], ofField number: Int) {
        // Two is the type of what has a length.
        self.append(varint: number << 3 | 2)
        self.append(varint: message.count)
        self.append(contentsOf: message)
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

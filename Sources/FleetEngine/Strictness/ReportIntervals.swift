// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

/// When each vehicle last reported where it is; bounded, and the same work for each report.
///
/// Two generations bound it, as in the verifier's cache: a vehicle that reports moves to the young one, and what is left
/// in the old one when the young one is full is forgotten.
struct ReportIntervals {
    private struct Key: Hashable {
        let provider: ProviderID
        let vehicle: VehicleID?
        let deliveryVehicle: DeliveryVehicleID?
    }

    /// The documented bounds, in milliseconds, with half a second for what the network adds and takes.
    private static let shortest: Int64 = 5_000 - 500
    private static let longest: Int64 = 60_000 + 500
    /// A longer silence is a break, not a slow reporter.
    private static let shift: Int64 = 3_600_000

    private let generationCapacity: Int
    private var young: [Key: Int64] = [:]
    private var old: [Key: Int64] = [:]

    init(maximumVehicles: Int) {
        self.generationCapacity = max(1, maximumVehicles / 2)
    }

    /// How many vehicles are remembered.
    var count: Int { self.young.count + self.old.count }

    /// Takes a report, and gives what is wrong with the time since the one before.
    ///
    /// One that sets the vehicle offline is not measured: a shift ends when it ends.
    mutating func note(_ report: LocationReport, of access: AccessRequest, at now: Date) -> Deviation? {
        let key = Key(
            provider: access.provider, vehicle: access.vehicle, deliveryVehicle: access.deliveryVehicle)
        let time = Int64(now.timeIntervalSince1970 * 1000)
        let last = self.young[key] ?? self.old.removeValue(forKey: key)
        if report.isLast {
            self.young[key] = nil
        } else if report.isLocated {
            self.keep(time, for: key)
        } else {
            return nil
        }
        guard report.isLocated, !report.isLast, let last else { return nil }
        switch time - last {
        case 0..<Self.shortest: return .reportTooOften
        case (Self.longest + 1)..<Self.shift: return .reportTooSeldom
        default: return nil
        }
    }

    private mutating func keep(_ time: Int64, for key: Key) {
        if self.young[key] == nil, self.young.count >= self.generationCapacity {
            self.old = self.young
            self.young = [:]
        }
        self.young[key] = time
    }
}

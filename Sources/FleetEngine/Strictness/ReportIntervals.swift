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

        init(_ access: AccessRequest) {
            self.provider = access.provider
            self.vehicle = access.vehicle
            self.deliveryVehicle = access.deliveryVehicle
        }
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

    /// What is wrong with the time between the last report that was noted and this one.
    ///
    /// One that sets the vehicle offline is not measured: a shift ends when it ends.
    func deviation(of report: LocationReport, of access: AccessRequest, at now: Date) -> Deviation? {
        let key = Key(access)
        guard report.isLocated, !report.isLast, let last = self.young[key] ?? self.old[key] else { return nil }
        switch Self.milliseconds(now) - last {
        case 0..<Self.shortest: return .reportTooOften
        case (Self.longest + 1)..<Self.shift: return .reportTooSeldom
        default: return nil
        }
    }

    /// Takes a report.
    mutating func note(_ report: LocationReport, of access: AccessRequest, at now: Date) {
        let key = Key(access)
        if report.isLast {
            self.young[key] = nil
            self.old[key] = nil
        } else {
            self.keep(Self.milliseconds(now), for: key)
        }
    }

    private mutating func keep(_ time: Int64, for key: Key) {
        if let index = self.young.index(forKey: key) {
            self.young.values[index] = time
            return
        }
        self.old[key] = nil
        if self.young.count >= self.generationCapacity {
            self.old = self.young
            self.young = [:]
        }
        self.young[key] = time
    }

    private static func milliseconds(_ time: Date) -> Int64 { Int64(time.timeIntervalSince1970 * 1000) }
}

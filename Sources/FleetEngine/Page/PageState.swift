// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Foundation
import SwiftProtobuf

/// What the page shows, as its script reads it; times are Unix milliseconds.
struct PageState: Encodable {
    struct VehicleDot: Encodable {
        let id: String
        let state: String
        let latitude: Double
        let longitude: Double
        let heading: Int32?
        let trips: [String]
        let reported: Int64
    }

    struct Token: Encodable {
        let fingerprint: String
        let subject: String
        let role: String
        let secondsLeft: Int64
        let lastMethod: String
        let lastUse: Int64
        let count: Int
    }

    struct Refusal: Encodable {
        let time: Int64
        let method: String
        let reason: String
        let message: String
        let fingerprint: String?
        let subject: String?
    }

    let provider: String
    let now: Int64
    let vehicles: [VehicleDot]
    let tokens: [Token]
    let refusals: [Refusal]

    init(provider: ProviderID, vehicles: [Vehicle], activity: EngineActivity.Snapshot, now: Date) {
        self.provider = provider.value
        self.now = Self.milliseconds(now)
        self.vehicles = vehicles.map { vehicle in
            let location = vehicle.lastLocation
            return VehicleDot(
                id: vehicle.name.split(separator: "/").last.map(String.init) ?? "",
                state: "\(vehicle.vehicleState)",
                latitude: location.location.latitude,
                longitude: location.location.longitude,
                heading: location.hasHeading ? location.heading.value : nil,
                trips: vehicle.currentTrips,
                reported: Self.milliseconds(location.serverTime.date)
            )
        }
        .sorted { $0.id < $1.id }
        self.tokens = activity.tokens.prefix(100).map { use in
            Token(
                fingerprint: use.fingerprint,
                subject: use.claims,
                role: use.role,
                secondsLeft: Int64(use.expiry.timeIntervalSince(now)),
                lastMethod: use.lastMethod.name,
                lastUse: Self.milliseconds(use.lastUse),
                count: use.count
            )
        }
        self.refusals = activity.refusals.prefix(50).map { refusal in
            Refusal(
                time: Self.milliseconds(refusal.time),
                method: refusal.method.name,
                reason: refusal.reason,
                message: refusal.message,
                fingerprint: refusal.fingerprint,
                subject: refusal.claims
            )
        }
    }

    private static func milliseconds(_ date: Date) -> Int64 { Int64(date.timeIntervalSince1970 * 1000) }
}

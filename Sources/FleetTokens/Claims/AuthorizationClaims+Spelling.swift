// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

extension AuthorizationClaims {
    /// What to mend where a claim that would be looked at is ignored, because its name is in other letters than the
    /// service's, such as `vehicleId`; `nil` where none is.
    func spellingFix(for claim: AccessRule.Claim) -> String? {
        self.spellingFix(for: claim.keys)
    }

    /// The same for every claim.
    package var spellingFix: String? { self.spellingFix(for: Key.allCases) }

    private func spellingFix(for keys: [Key]) -> String? {
        let ignored = self.ignoredNames.first { name in keys.contains { $0.rawValue == name.lowercased() } }
        return ignored.map { "Write the claim \($0) as \($0.lowercased()); in any other spelling it is ignored." }
    }
}

extension AccessRule.Claim {
    /// The claims that can meet it.
    fileprivate var keys: [AuthorizationClaims.Key] {
        switch self {
        case .none: []
        case .vehicle, .everyVehicle, .vehicleSearched, .vehicleOfTrip: [.vehicleid]
        case .trip, .tripSearchedFor: [.tripid]
        case .tripOrItsVehicle: [.tripid, .vehicleid]
        case .deliveryVehicle, .everyDeliveryVehicle: [.deliveryvehicleid]
        case .task, .everyTask: [.taskid]
        case .taskList: [.taskids]
        case .tracking: [.trackingid]
        }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens

/// A call whose token was checked, on its way into a transaction.
///
/// An object, as it is handed on many times and would be copied with all its names and claims.
final class Admission: Sendable {
    let access: AccessRequest
    let token: ExaminedToken
    /// The token's text, for its fingerprint only.
    let text: String
    let context: CallContext
    /// Whether the token opens the call only if the trip is assigned to the token's vehicle, or to none.
    let dependsOnTrip: Bool

    init(access: AccessRequest, token: ExaminedToken, text: String, context: CallContext, dependsOnTrip: Bool) {
        self.access = access
        self.token = token
        self.text = text
        self.context = context
        self.dependsOnTrip = dependsOnTrip
    }

    /// Decides what can be decided without looking.
    ///
    /// - Returns: Whether the rest depends on the vehicle that the trip is assigned to.
    /// - Throws: ``TokenRefusal`` where no assignment could make a difference.
    static func dependsOnTrip(_ access: AccessRequest, _ token: ExaminedToken) throws(TokenRefusal) -> Bool {
        do {
            try access.authorize(token)
            return false
        } catch {
            if let unordered = access.withoutOrder, (try? unordered.authorize(token)) != nil,
                error.reason == .claimMismatch
            {
                return true
            }
            guard case .only(let vehicle) = token.claims.authorization?.vehicle else { throw error }
            var best = access
            best.vehicleOfTrip = vehicle
            try best.authorize(token)
            return true
        }
    }

    /// Decides the rest within the transaction; a trip that does not exist is refused like one of another vehicle.
    ///
    /// - Throws: ``TokenRefusal``, or what the store throws.
    func confirm(in store: any EngineReader) throws {
        guard self.dependsOnTrip, let trip = self.access.trip else { return }
        var access = self.access
        let found = try store.trip(trip, of: access.provider)
        access.vehicleOfTrip = found.flatMap { VehicleID($0.vehicleID) }
        if let found, found.vehicleID.isEmpty, let unordered = access.withoutOrder { access = unordered }
        try access.authorize(self.token)
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetTokens

extension TokenSubject {
    /// Checks that a token is for this subject and nothing wider.
    ///
    /// The signature is not checked, only the engine can; what is kept from leaving is a token for another resource,
    /// or one with a wildcard, which no phone should hold.
    ///
    /// - Parameter token: The token that a provider handed out.
    /// - Throws: ``TokenClientError`` with ``TokenClientError/Code/wrongToken``.
    package func checkReach(of token: FleetToken) throws(TokenClientError) {
        let claims = try Self.claims(of: token)
        switch self {
        case .driver(let vehicle): try Self.check(claims.vehicle, claims, is: vehicle, claim: "vehicleid")
        case .consumer(let trip): try Self.check(claims.trip, claims, is: trip, claim: "tripid")
        case .deliveryDriver(let vehicle, let task):
            try Self.check(claims.deliveryVehicle, claims, is: vehicle, claim: "deliveryvehicleid")
            if let task { try Self.check(claims.task, claims, is: task, claim: "taskid") }
        case .deliveryConsumer(let tracking): try Self.check(claims.tracking, claims, is: tracking, claim: "trackingid")
        case .fleetReader: break
        }
    }

    private static func claims(of token: FleetToken) throws(TokenClientError) -> AuthorizationClaims {
        do {
            let jws = try CompactJWS(token.compactSerialization)
            guard let object = try JSONValue(parsing: jws.payload).object?["authorization"]?.object else {
                throw Self.wrong("has no authorization claims")
            }
            return try AuthorizationClaims(json: object)
        } catch let error as TokenClientError {
            throw error
        } catch {
            throw Self.wrong("cannot be read", cause: error)
        }
    }

    private static func check<Kind>(
        _ scope: Scope<FleetID<Kind>>?,
        _ claims: AuthorizationClaims,
        is wanted: FleetID<Kind>,
        claim: String
    ) throws(TokenClientError) {
        guard
            claims.vehicle != .any, claims.trip != .any, claims.deliveryVehicle != .any, claims.task != .any,
            claims.taskList != .any, claims.tracking != .any
        else { throw Self.wrong("holds a wildcard, which must not be on a device") }
        switch scope {
        case .only(wanted): break
        case .only(let other): throw Self.wrong("has the \(claim) \"\(other)\" instead of \"\(wanted)\"")
        case .any, nil: throw Self.wrong("has no \(claim); \"\(wanted)\" was asked for")
        }
    }

    private static func wrong(_ problem: String, cause: (any Error)? = nil) -> TokenClientError {
        TokenClientError(
            code: .wrongToken,
            message: "The token \(problem); it was not sent. Check what the token server mints.",
            cause: cause
        )
    }
}

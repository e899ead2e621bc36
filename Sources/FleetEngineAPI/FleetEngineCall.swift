// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// A call as it is sent over REST, and what its token must reach.
struct FleetEngineCall: Sendable {
    let method: FleetMethod
    let resource: ResourceName
    let verb: HTTPForm.Verb
    /// Path and query, percent-encoded.
    let target: String
    private let access: AccessRequest

    /// Builds a call.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - resource: The resource that is addressed or created; the provider for lists, searches and batches.
    ///   - query: Names and values, not encoded.
    /// - Throws: ``FleetEngineCallError`` with ``FleetEngineCallError/Code/invalidCall``.
    init(
        _ method: FleetMethod, on resource: ResourceName, query: [(name: String, value: String)]
    ) throws(FleetEngineCallError) {
        let form = method.httpForm
        let (collection, action) = (form.collection, form.action)
        let namesOne = form.hasID || form.newID != nil
        var segments = resource.segments.map(String.init)
        guard namesOne ? segments.count == 4 && segments[2] == collection : segments.count == 2 else {
            let wanted = "providers/\(resource.provider)" + (namesOne ? "/\(collection)/ID" : "")
            throw FleetEngineCallError(
                code: .invalidCall,
                message: "\(method.name) is called on \(wanted), and not on \(resource); pass such a resource.")
        }
        var query = query
        if let newID = form.newID {
            guard !query.contains(where: { $0.name == newID }) else {
                throw FleetEngineCallError(
                    code: .invalidCall,
                    message: "\(method.name) takes \(newID) from the resource; leave it out of the query.")
            }
            query.append((newID, segments.removeLast()))
        } else if !namesOne {
            segments.append(String(collection))
        }
        self.method = method
        self.resource = resource
        self.verb = form.verb
        let items = query.map { "\(PercentCoding.encode($0.name))=\(PercentCoding.encode($0.value))" }
        self.target =
            "/v1" + segments.map { "/\(PercentCoding.encode($0))" }.joined() + action
            + (items.isEmpty ? "" : "?" + items.joined(separator: "&"))
        let masks = query.filter { $0.name == "updateMask" || $0.name == "update_mask" }
        self.access = AccessRequest(
            method: method, resource: resource,
            maskedFields: masks.flatMap { $0.value.split(separator: ",").map(String.init) })
    }

    /// Checks that a token reaches what it travels with, as far as this side can tell.
    ///
    /// Nothing is granted by it, that is the engine's: it keeps a token away from calls that it was not made for.
    ///
    /// - Throws: ``FleetEngineCallError`` with ``FleetEngineCallError/Code/tokenMismatch``.
    func check(_ token: FleetToken) throws(FleetEngineCallError) {
        do throws(TokenRefusal) {
            let payload = try CompactJWS(token.compactSerialization).payload
            // An administrator's plain token has no claims that count, and needs none.
            guard let claims = try TokenClaims(unverified: payload).authorization, !claims.isEmpty else { return }
            // Whether a trip has a vehicle, and which, and which one a search names in its body, the engine alone sees.
            if let unordered = self.access.withoutOrder, (try? unordered.checkCoverage(of: claims, role: nil)) != nil {
                return
            }
            var access = self.access
            if case .only(let vehicle)? = claims.vehicle {
                access.vehicleOfTrip = vehicle
                if self.method == .searchTrips { access.vehicle = vehicle }
            }
            try access.checkCoverage(of: claims, role: nil)
        } catch {
            throw FleetEngineCallError(
                code: .tokenMismatch,
                message: "The token for \(self.method.name) on \(self.resource) was not sent. \(error.message)",
                cause: error)
        }
    }
}

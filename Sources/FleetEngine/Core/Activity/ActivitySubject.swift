// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens

extension EngineActivity {
    /// The one resource that a token reaches or a call addresses, by which entries are grouped.
    public struct Subject: Hashable, Sendable {
        /// The kinds of resources.
        public enum Kind: String, Hashable, Sendable {
            /// A vehicle of the on-demand service.
            case vehicle
            /// A trip.
            case trip
            /// A vehicle of the scheduled-tasks service.
            case deliveryVehicle
            /// A task.
            case task
            /// A shipment, by its tracking id.
            case shipment
            /// More than one resource, or none.
            case fleet
        }

        /// The kind of the resource.
        public let kind: Kind
        /// The resource's id; empty for a fleet.
        public let id: String

        /// Names a resource.
        public init(kind: Kind, id: String) {
            self.kind = kind
            self.id = id
        }

        private init(_ candidates: (Kind, String?)...) {
            let found = candidates.lazy.compactMap { kind, id in id.map { (kind, $0) } }.first
            self.kind = found?.0 ?? .fleet
            self.id = found?.1 ?? ""
        }

        /// What claims reach.
        ///
        /// - Parameter claims: The claims of a token, if it has any.
        public init(_ claims: AuthorizationClaims?) {
            func id<Kind>(_ scope: Scope<FleetID<Kind>>?) -> String? {
                if case .only(let id) = scope { id.value } else { nil }
            }
            self.init(
                (.vehicle, id(claims?.vehicle)), (.deliveryVehicle, id(claims?.deliveryVehicle)),
                (.trip, id(claims?.trip)), (.task, id(claims?.task)), (.shipment, id(claims?.tracking)))
        }

        /// What a call addresses.
        ///
        /// - Parameter request: The call.
        public init(addressedBy request: AccessRequest) {
            self.init(
                (.vehicle, request.vehicle?.value), (.deliveryVehicle, request.deliveryVehicle?.value),
                (.trip, request.trip?.value), (.task, request.tasks.first?.value),
                (.shipment, request.tracking?.value))
        }
    }
}

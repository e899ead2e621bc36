// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// What a signing account may do: an IAM role of Fleet Engine under the name that key files and commands use.
///
/// The role comes from the account that signs, never from the token; the claims can only narrow it. Unknown roles are
/// kept and hold no permission.
public struct Role: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The name in key files and commands, such as `driver`.
    public let rawValue: String
    /// Wraps any name, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The name in key files and commands.
    public var description: String { self.rawValue }

    /// A customer's app, `roles/fleetengine.consumerSdkUser`.
    public static let consumer = Self(rawValue: "consumer")
    /// A driver's app, `roles/fleetengine.driverSdkUser`.
    public static let driver = Self(rawValue: "driver")
    /// An on-demand backend, `roles/fleetengine.serviceSuperUser`.
    public static let server = Self(rawValue: "server")
    /// A reader of both services, `roles/fleetengine.viewer`.
    public static let fleetReader = Self(rawValue: "fleet_reader")
    /// An on-demand administrator, `roles/fleetengine.ondemandAdmin`; needs no claims.
    public static let onDemandAdmin = Self(rawValue: "ondemand_admin")
    /// A shipment's recipient, `roles/fleetengine.deliveryConsumer`.
    public static let deliveryConsumer = Self(rawValue: "delivery_consumer")
    /// A delivery driver's own phone, `roles/fleetengine.deliveryUntrustedDriver`.
    public static let deliveryUntrustedDriver = Self(rawValue: "delivery_untrusted_driver")
    /// A delivery driver's managed device, `roles/fleetengine.deliveryTrustedDriver`.
    public static let deliveryTrustedDriver = Self(rawValue: "delivery_trusted_driver")
    /// A delivery operator's reader, `roles/fleetengine.deliveryFleetReader`.
    public static let deliveryFleetReader = Self(rawValue: "delivery_fleet_reader")
    /// A scheduled-tasks backend, `roles/fleetengine.deliverySuperUser`.
    public static let deliveryServer = Self(rawValue: "delivery_server")
    /// A scheduled-tasks administrator, `roles/fleetengine.deliveryAdmin`; needs no claims.
    public static let deliveryAdmin = Self(rawValue: "delivery_admin")

    /// Every role of the service, in the order of the reference.
    public static let known: [Self] = [
        .consumer, .driver, .server, .fleetReader, .onDemandAdmin, .deliveryConsumer, .deliveryUntrustedDriver,
        .deliveryTrustedDriver, .deliveryFleetReader, .deliveryServer, .deliveryAdmin,
    ]

    /// The role's id in IAM, or `nil` for an unknown role.
    public var iamRole: String? { Self.grants[self].map { "roles/fleetengine.\($0.iam)" } }

    /// What the role permits (IAM roles reference); empty for an unknown role.
    public var permissions: Set<Permission> { Self.grants[self]?.permissions ?? [] }

    private struct Grant {
        let iam: String
        let permissions: Set<Permission>
    }

    private static let serverPermissions: Set<Permission> = [
        .tripsCreate, .tripsDelete, .tripsGet, .tripsSearch, .tripsUpdate, .tripsUpdateState,
        .vehiclesCreate, .vehiclesDelete, .vehiclesGet, .vehiclesList, .vehiclesSearch, .vehiclesSearchFuzzed,
        .vehiclesUpdate, .vehiclesUpdateLocation, .billableTripsReport,
    ]

    private static let deliveryServerPermissions: Set<Permission> = [
        .deliveryVehiclesCreate, .deliveryVehiclesDelete, .deliveryVehiclesGet, .deliveryVehiclesList,
        .deliveryVehiclesUpdate, .deliveryVehiclesUpdateLocation, .deliveryVehiclesUpdateVehicleStops,
        .tasksCreate, .tasksDelete, .tasksGet, .tasksList, .tasksSearchWithTrackingID, .tasksUpdate,
        .taskTrackingInfoGet,
    ]

    private static let grants: [Role: Grant] = [
        .consumer: Grant(
            iam: "consumerSdkUser",
            permissions: [.tripsGet, .vehiclesGet, .vehiclesSearch, .vehiclesSearchFuzzed]
        ),
        .driver: Grant(
            iam: "driverSdkUser",
            permissions: [.tripsGet, .tripsSearch, .tripsUpdate, .vehiclesGet, .vehiclesUpdateLocation]
        ),
        .server: Grant(iam: "serviceSuperUser", permissions: serverPermissions),
        .fleetReader: Grant(
            iam: "viewer",
            permissions: [
                .deliveryVehiclesGet, .deliveryVehiclesList, .tasksGet, .tasksList, .tasksSearchWithTrackingID,
                .taskTrackingInfoGet, .tripsGet, .tripsSearch, .vehiclesGet, .vehiclesList, .vehiclesSearch,
                .vehiclesSearchFuzzed,
            ]
        ),
        .onDemandAdmin: Grant(
            iam: "ondemandAdmin",
            permissions: serverPermissions.union([.tripsAllowAllActions, .vehiclesAllowAllActions])
        ),
        .deliveryConsumer: Grant(
            iam: "deliveryConsumer",
            permissions: [.tasksSearchWithTrackingID, .taskTrackingInfoGet]
        ),
        .deliveryUntrustedDriver: Grant(
            iam: "deliveryUntrustedDriver",
            permissions: [.deliveryVehiclesGet, .deliveryVehiclesUpdateLocation]
        ),
        .deliveryTrustedDriver: Grant(
            iam: "deliveryTrustedDriver",
            permissions: [
                .deliveryVehiclesCreate, .deliveryVehiclesGet, .deliveryVehiclesUpdate,
                .deliveryVehiclesUpdateLocation, .deliveryVehiclesUpdateVehicleStops, .tasksCreate, .tasksUpdate,
            ]
        ),
        .deliveryFleetReader: Grant(
            iam: "deliveryFleetReader",
            permissions: [
                .deliveryVehiclesGet, .deliveryVehiclesList, .tasksGet, .tasksList, .tasksSearchWithTrackingID,
                .taskTrackingInfoGet,
            ]
        ),
        .deliveryServer: Grant(iam: "deliverySuperUser", permissions: deliveryServerPermissions),
        .deliveryAdmin: Grant(
            iam: "deliveryAdmin",
            permissions: deliveryServerPermissions.union([
                .deliveryVehiclesAllowAllActions, .tasksAllowAllActions, .taskTrackingInfoAllowAllActions,
            ])
        ),
    ]
}

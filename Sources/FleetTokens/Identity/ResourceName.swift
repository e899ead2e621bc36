// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// The name of a Fleet Engine resource, such as `providers/acme/vehicles/veh-3`.
public enum ResourceName: Hashable, Sendable {
    /// A provider itself, the parent of every collection.
    case provider(ProviderID)
    /// An on-demand vehicle.
    case vehicle(ProviderID, VehicleID)
    /// An on-demand trip.
    case trip(ProviderID, TripID)
    /// A trip as the billing report names it.
    case billableTrip(ProviderID, TripID)
    /// A delivery vehicle.
    case deliveryVehicle(ProviderID, DeliveryVehicleID)
    /// A scheduled task.
    case task(ProviderID, TaskID)
    /// What a tracking id shows.
    case taskTrackingInfo(ProviderID, TrackingID)

    /// Reads a name of the form `providers/P` or `providers/P/COLLECTION/ID`.
    ///
    /// - Parameter name: The name as a request carries it, percent-decoded.
    /// - Throws: ``TokenError`` with ``TokenError/Code/invalidResourceName`` for a wrong form or collection, or
    ///   ``TokenError/Code/invalidIdentifier`` for a wrong id.
    public init(checking name: some StringProtocol) throws(TokenError) {
        let text = String(name)
        var segments = PathSegments(text[...])
        let (root, parent, collection, id) = (segments.next(), segments.next(), segments.next(), segments.next())
        guard root == "providers", let parent, (collection == nil) == (id == nil), segments.next() == nil else {
            throw TokenError(
                code: .invalidResourceName,
                message: "\"\(text.prefix(200))\" is not a resource name; use providers/P or providers/P/vehicles/V."
            )
        }
        let provider = try ProviderID(checking: parent)
        guard let collection, let id else {
            self = .provider(provider)
            return
        }
        switch collection {
        case "vehicles": self = .vehicle(provider, try VehicleID(checking: id))
        case "trips": self = .trip(provider, try TripID(checking: id))
        case "billableTrips": self = .billableTrip(provider, try TripID(checking: id))
        case "deliveryVehicles": self = .deliveryVehicle(provider, try DeliveryVehicleID(checking: id))
        case "tasks": self = .task(provider, try TaskID(checking: id))
        case "taskTrackingInfo": self = .taskTrackingInfo(provider, try TrackingID(checking: id))
        default:
            throw TokenError(
                code: .invalidResourceName,
                message: "\"\(collection.prefix(64))\" is not a Fleet Engine collection; use vehicles, trips, "
                    + "deliveryVehicles, tasks or taskTrackingInfo."
            )
        }
    }

    /// The two or four parts of the name between its slashes.
    package var segments: [Substring] { Array(PathSegments(self.description[...])) }

    /// The provider that the resource belongs to.
    public var provider: ProviderID {
        switch self {
        case .provider(let provider), .vehicle(let provider, _), .trip(let provider, _), .billableTrip(let provider, _),
            .deliveryVehicle(let provider, _), .task(let provider, _), .taskTrackingInfo(let provider, _):
            provider
        }
    }
}

extension ResourceName: CustomStringConvertible {
    /// The name as requests carry it, not percent-encoded.
    public var description: String {
        switch self {
        case .provider(let provider): "providers/\(provider)"
        case .vehicle(let provider, let id): "providers/\(provider)/vehicles/\(id)"
        case .trip(let provider, let id): "providers/\(provider)/trips/\(id)"
        case .billableTrip(let provider, let id): "providers/\(provider)/billableTrips/\(id)"
        case .deliveryVehicle(let provider, let id): "providers/\(provider)/deliveryVehicles/\(id)"
        case .task(let provider, let id): "providers/\(provider)/tasks/\(id)"
        case .taskTrackingInfo(let provider, let id): "providers/\(provider)/taskTrackingInfo/\(id)"
        }
    }
}

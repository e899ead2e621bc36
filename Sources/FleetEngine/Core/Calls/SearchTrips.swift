// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

enum SearchTrips: ReadingCall {
    typealias Request = Maps_Fleetengine_V1_SearchTripsRequest
    typealias Response = Maps_Fleetengine_V1_SearchTripsResponse

    static let method = FleetMethod.searchTrips

    static func accessWithoutIDs(_ request: Request) throws(EngineError) -> AccessRequest {
        try Self.access(parent: request.parent)
    }

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        var access = try Self.accessWithoutIDs(request)
        if !request.vehicleID.isEmpty { access.vehicle = try Self.id(request.vehicleID, field: "vehicle_id") }
        return access
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineReader, context: CallContext
    ) throws -> Response {
        let paging = try Paging(request, of: Self.method)
        var scan = StoreScan(isActiveOnly: request.activeTripsOnly, holder: access.vehicle?.value)
        if request.hasMinimumStaleness {
            let staleness = Duration(request.minimumStaleness)
            guard staleness >= .zero else {
                throw EngineError.invalidArgument("minimum_staleness must not be negative.", field: "minimum_staleness")
            }
            scan.unchangedSince = Google_Protobuf_Timestamp(stamping: context.now).advanced(by: .zero - staleness)
        }
        let vehicle = try access.vehicle.flatMap { try store.vehicle($0, of: access.provider) }
        let page = try store.page(
            paging, scan, of: access.provider, counting: false, where: nil,
            show: { (id: String, trip: Trip) throws -> Trip in
                guard access.vehicle == nil else {
                    return TripView.show(trip, id: id, vehicle: vehicle, context: context)
                }
                let vehicle = try VehicleID(trip.vehicleID).flatMap { try store.vehicle($0, of: access.provider) }
                return TripView.summary(trip, id: id, vehicle: vehicle, context: context)
            }
        )
        return .with {
            $0.trips = page.resources
            $0.nextPageToken = page.nextToken
        }
    }
}

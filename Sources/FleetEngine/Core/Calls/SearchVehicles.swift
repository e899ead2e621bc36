// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// `VehicleService.SearchVehicles`.
enum SearchVehicles: ReadingCall {
    typealias Request = Maps_Fleetengine_V1_SearchVehiclesRequest
    typealias Response = Maps_Fleetengine_V1_SearchVehiclesResponse

    static let method = FleetMethod.searchVehicles

    static func accessWithoutIDs(_ request: Request) throws(EngineError) -> AccessRequest {
        try Self.access(parent: request.parent)
    }

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        var access = try Self.accessWithoutIDs(request)
        if !request.tripID.isEmpty { access.trip = try Self.id(request.tripID, field: "trip_id") }
        return access
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineReader, context: CallContext
    ) throws -> Response {
        let search = try VehicleSearch(request, context: context)
        var ranking = VehicleRanking(search)
        try store.scanVehicles(
            nearest: search.pickup, within: search.reachMeters, of: access.provider
        ) { leastMeters, vehicle in
            guard ranking.wants(vehiclesFrom: leastMeters) else { return false }
            try ranking.add(vehicle) { try store.trips(of: vehicle, provider: access.provider) }
            return true
        }
        let matches = context.seesEveryVehicle ? ranking.matches : ranking.matches.map(VehicleView.approximate)
        return .with { $0.matches = Paging.whatFits(matches) }
    }
}

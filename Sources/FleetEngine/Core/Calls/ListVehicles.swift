// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

enum ListVehicles: ReadingCall {
    typealias Request = Maps_Fleetengine_V1_ListVehiclesRequest
    typealias Response = Maps_Fleetengine_V1_ListVehiclesResponse

    static let method = FleetMethod.listVehicles

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        try Self.access(parent: request.parent)
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineReader, context: CallContext
    ) throws -> Response {
        let list = try VehicleList(request, context: context)
        let paging = try Paging(request, of: Self.method)
        let page = try store.page(
            paging, list.scan, of: access.provider,
            where: list.isUnrestricted ? nil : { (_, vehicle: Vehicle) in list.holds(vehicle) },
            show: { (_, vehicle: Vehicle) in VehicleView.show(vehicle, context: context).whole }
        )
        return .with {
            $0.vehicles = page.resources
            $0.nextPageToken = page.nextToken
            $0.totalSize = Int64(page.total)
        }
    }
}

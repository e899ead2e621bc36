// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

enum ListDeliveryVehicles: ReadingCall {
    typealias Request = Maps_Fleetengine_Delivery_V1_ListDeliveryVehiclesRequest
    typealias Response = Maps_Fleetengine_Delivery_V1_ListDeliveryVehiclesResponse

    static let method = FleetMethod.listDeliveryVehicles

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        try Self.access(parent: request.parent)
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineReader, context: CallContext
    ) throws -> Response {
        let filter = request.filter.isEmpty ? nil : try ResourceFilter(request.filter)
        let scan = StoreScan(box: request.hasViewport ? try GeoBox(request.viewport) : nil)
        let paging = try Paging(request, of: Self.method)
        let page = try store.page(
            paging, scan, of: access.provider,
            where: filter.map { filter in
                { (_, vehicle: DeliveryVehicle) in
                    filter.matches(attributes: AttributeRules.values(vehicle.attributes))
                }
            },
            show: { (_, vehicle: DeliveryVehicle) in DeliveryVehicleView.summary(vehicle, context: context) }
        )
        return .with {
            $0.deliveryVehicles = page.resources
            $0.nextPageToken = page.nextToken
            $0.totalSize = Int64(page.total)
        }
    }
}

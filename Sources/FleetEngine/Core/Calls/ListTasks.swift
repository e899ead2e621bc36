// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

enum ListTasks: ReadingCall {
    typealias Request = Maps_Fleetengine_Delivery_V1_ListTasksRequest
    typealias Response = Maps_Fleetengine_Delivery_V1_ListTasksResponse

    static let method = FleetMethod.listTasks

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        try Self.access(parent: request.parent)
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineReader, context: CallContext
    ) throws -> Response {
        let filter = request.filter.isEmpty ? nil : try ResourceFilter(request.filter, fields: TaskFields.filterable)
        let scan = StoreScan(
            isActiveOnly: filter?.required("state") == "OPEN",
            holder: filter?.required("delivery_vehicle_id"),
            tracking: filter?.required("tracking_id")
        )
        let paging = try Paging(request, of: Self.method)
        let page = try store.page(
            paging, scan, of: access.provider,
            where: filter.map { filter in
                { (_, task: DeliveryTask) in
                    let attributes = AttributeRules.values(task.attributes)
                    return filter.matches { TaskFields.value($0, of: task, attributes: attributes) }
                }
            },
            show: { (_, task: DeliveryTask) in task }
        )
        return .with {
            $0.tasks = page.resources
            $0.nextPageToken = page.nextToken
            $0.totalSize = Int64(page.total)
        }
    }
}

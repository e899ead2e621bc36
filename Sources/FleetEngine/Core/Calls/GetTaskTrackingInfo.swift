// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens

enum GetTaskTrackingInfo: ReadingCall {
    typealias Request = Maps_Fleetengine_Delivery_V1_GetTaskTrackingInfoRequest
    typealias Response = TaskTrackingInfo

    static let method = FleetMethod.getTaskTrackingInfo

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        let resource = try Self.resource(request.name)
        guard case .taskTrackingInfo = resource else {
            throw Self.misnamed(resource, "a tracking id", "taskTrackingInfo/K")
        }
        return AccessRequest(method: Self.method, resource: resource)
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineReader, context: CallContext
    ) throws -> Response {
        guard let tracking = access.tracking else { throw EngineError.unexpected }
        let name = ResourceName.taskTrackingInfo(access.provider, tracking)
        var tasks: [(id: String, task: DeliveryTask)] = []
        try store.scan(StoreScan(tracking: tracking.value), of: access.provider) { (id, task: DeliveryTask) in
            tasks.append((id, task))
            return true
        }
        let chosen = try TrackingView.choose(tasks) { try store.deliveryVehicle(of: $0, provider: access.provider) }
        guard let chosen else { throw EngineError.notFound(name) }
        return TrackingView.show(chosen.task, id: chosen.id, name: name, vehicle: chosen.vehicle, context: context)
    }
}

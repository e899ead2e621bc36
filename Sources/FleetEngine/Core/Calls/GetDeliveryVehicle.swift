// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens

enum GetDeliveryVehicle: ReadingCall {
    typealias Request = Maps_Fleetengine_Delivery_V1_GetDeliveryVehicleRequest
    typealias Response = DeliveryVehicle

    static let method = FleetMethod.getDeliveryVehicle

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        try Self.access(deliveryVehicle: request.name)
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineReader, context: CallContext
    ) throws -> Response {
        let (id, name) = try access.deliveryVehicleAddress
        guard let vehicle = try store.deliveryVehicle(id, of: access.provider) else {
            throw EngineError.notFound(name)
        }
        var shown = DeliveryVehicleView.show(vehicle, context: context)
        let tasks = shown.remainingVehicleJourneySegments.flatMap { $0.stop.tasks.compactMap { TaskID($0.taskID) } }
        try store.prefetch(tasks, of: access.provider, as: DeliveryTask.self)
        // The tasks' time windows may change at any time, so they are looked up where they are kept.
        for stop in shown.remainingVehicleJourneySegments.indices {
            var tasks = shown.remainingVehicleJourneySegments[stop].stop.tasks
            for place in tasks.indices {
                guard let task = try TaskID(tasks[place].taskID).flatMap({ try store.task($0, of: access.provider) }),
                    task.hasTargetTimeWindow
                else { continue }
                tasks[place].targetTimeWindow = task.targetTimeWindow
            }
            shown.remainingVehicleJourneySegments[stop].stop.tasks = tasks
        }
        return shown
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

extension Maps_Fleetengine_Delivery_V1_UpdateDeliveryVehicleRequest: HeaderedRequest {
    var deviations: DeviationSet {
        let (mask, vehicle) = (self.updateMask, self.deliveryVehicle)
        var found = vehicle.lastLocation.deviations { mask.names("last_location.\($0)") }
        if mask.names("past_locations") { found.formUnion(vehicle.pastLocations.deviations) }
        return found
    }

    var report: LocationReport? {
        LocationReport(of: self.deliveryVehicle.lastLocation, masked: self.updateMask, isLast: false)
    }
}

extension Maps_Fleetengine_Delivery_V1_CreateDeliveryVehicleRequest: HeaderedRequest {
    var deviations: DeviationSet {
        var found = self.deliveryVehicle.lastLocation.deviations()
        found.formUnion(self.deliveryVehicle.pastLocations.deviations)
        return found
    }
}

extension Maps_Fleetengine_Delivery_V1_GetDeliveryVehicleRequest: HeaderedRequest {}
extension Maps_Fleetengine_Delivery_V1_DeleteDeliveryVehicleRequest: HeaderedRequest {}
extension Maps_Fleetengine_Delivery_V1_ListDeliveryVehiclesRequest: HeaderedRequest {}
extension Maps_Fleetengine_Delivery_V1_CreateTaskRequest: HeaderedRequest {}
extension Maps_Fleetengine_Delivery_V1_BatchCreateTasksRequest: HeaderedRequest {}
extension Maps_Fleetengine_Delivery_V1_GetTaskRequest: HeaderedRequest {}
extension Maps_Fleetengine_Delivery_V1_UpdateTaskRequest: HeaderedRequest {}
extension Maps_Fleetengine_Delivery_V1_DeleteTaskRequest: HeaderedRequest {}
extension Maps_Fleetengine_Delivery_V1_ListTasksRequest: HeaderedRequest {}
extension Maps_Fleetengine_Delivery_V1_GetTaskTrackingInfoRequest: HeaderedRequest {}

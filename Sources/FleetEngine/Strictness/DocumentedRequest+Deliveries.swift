// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

extension Maps_Fleetengine_Delivery_V1_UpdateDeliveryVehicleRequest: HeaderedRequest {
    var deviations: DeviationSet {
        self.updateMask.names("last_location", "lastLocation") ? self.deliveryVehicle.locationDeviations : []
    }

    var report: LocationReport? {
        LocationReport(of: self.deliveryVehicle.lastLocation, masked: self.updateMask.paths, isLast: false)
    }
}

extension Maps_Fleetengine_Delivery_V1_CreateDeliveryVehicleRequest: HeaderedRequest {
    var deviations: DeviationSet { self.deliveryVehicle.locationDeviations }
}

extension DeliveryVehicle {
    fileprivate var locationDeviations: DeviationSet {
        guard self.hasLastLocation else { return [] }
        var found: DeviationSet = self.lastLocation.isDeprecated ? [.deprecatedField] : []
        if self.lastLocation.hasServerTime { found.insert(.outputOnlyField) }
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

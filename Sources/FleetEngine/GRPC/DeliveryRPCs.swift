// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import GRPCCore
import SwiftProtobuf

/// The delivery service of the public API over gRPC: each method hands its call to the adapter.
struct DeliveryRPCs: Maps_Fleetengine_Delivery_V1_DeliveryService.ServiceProtocol {
    let adapter: GRPCAdapter

    func createDeliveryVehicle(
        request: ServerRequest<Maps_Fleetengine_Delivery_V1_CreateDeliveryVehicleRequest>, context: ServerContext
    ) async throws -> ServerResponse<Maps_Fleetengine_Delivery_V1_DeliveryVehicle> {
        try self.adapter.refuse(.createDeliveryVehicle)
    }

    func getDeliveryVehicle(
        request: ServerRequest<Maps_Fleetengine_Delivery_V1_GetDeliveryVehicleRequest>, context: ServerContext
    ) async throws -> ServerResponse<Maps_Fleetengine_Delivery_V1_DeliveryVehicle> {
        try self.adapter.refuse(.getDeliveryVehicle)
    }

    func updateDeliveryVehicle(
        request: ServerRequest<Maps_Fleetengine_Delivery_V1_UpdateDeliveryVehicleRequest>, context: ServerContext
    ) async throws -> ServerResponse<Maps_Fleetengine_Delivery_V1_DeliveryVehicle> {
        try self.adapter.refuse(.updateDeliveryVehicle)
    }

    func deleteDeliveryVehicle(
        request: ServerRequest<Maps_Fleetengine_Delivery_V1_DeleteDeliveryVehicleRequest>, context: ServerContext
    ) async throws -> ServerResponse<Google_Protobuf_Empty> {
        try self.adapter.refuse(.deleteDeliveryVehicle)
    }

    func listDeliveryVehicles(
        request: ServerRequest<Maps_Fleetengine_Delivery_V1_ListDeliveryVehiclesRequest>, context: ServerContext
    ) async throws -> ServerResponse<Maps_Fleetengine_Delivery_V1_ListDeliveryVehiclesResponse> {
        try self.adapter.refuse(.listDeliveryVehicles)
    }

    func createTask(
        request: ServerRequest<Maps_Fleetengine_Delivery_V1_CreateTaskRequest>, context: ServerContext
    ) async throws -> ServerResponse<Maps_Fleetengine_Delivery_V1_Task> {
        try self.adapter.refuse(.createTask)
    }

    func batchCreateTasks(
        request: ServerRequest<Maps_Fleetengine_Delivery_V1_BatchCreateTasksRequest>, context: ServerContext
    ) async throws -> ServerResponse<Maps_Fleetengine_Delivery_V1_BatchCreateTasksResponse> {
        try self.adapter.refuse(.batchCreateTasks)
    }

    func getTask(
        request: ServerRequest<Maps_Fleetengine_Delivery_V1_GetTaskRequest>, context: ServerContext
    ) async throws -> ServerResponse<Maps_Fleetengine_Delivery_V1_Task> {
        try self.adapter.refuse(.getTask)
    }

    func updateTask(
        request: ServerRequest<Maps_Fleetengine_Delivery_V1_UpdateTaskRequest>, context: ServerContext
    ) async throws -> ServerResponse<Maps_Fleetengine_Delivery_V1_Task> {
        try self.adapter.refuse(.updateTask)
    }

    func deleteTask(
        request: ServerRequest<Maps_Fleetengine_Delivery_V1_DeleteTaskRequest>, context: ServerContext
    ) async throws -> ServerResponse<Google_Protobuf_Empty> {
        try self.adapter.refuse(.deleteTask)
    }

    func listTasks(
        request: ServerRequest<Maps_Fleetengine_Delivery_V1_ListTasksRequest>, context: ServerContext
    ) async throws -> ServerResponse<Maps_Fleetengine_Delivery_V1_ListTasksResponse> {
        try self.adapter.refuse(.listTasks)
    }

    func getTaskTrackingInfo(
        request: ServerRequest<Maps_Fleetengine_Delivery_V1_GetTaskTrackingInfoRequest>, context: ServerContext
    ) async throws -> ServerResponse<Maps_Fleetengine_Delivery_V1_TaskTrackingInfo> {
        try self.adapter.refuse(.getTaskTrackingInfo)
    }
}

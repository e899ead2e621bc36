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
    ) async throws -> ServerResponse<DeliveryVehicle> {
        try await self.adapter.perform(CreateDeliveryVehicle.self, request)
    }

    func getDeliveryVehicle(
        request: ServerRequest<Maps_Fleetengine_Delivery_V1_GetDeliveryVehicleRequest>, context: ServerContext
    ) async throws -> ServerResponse<DeliveryVehicle> {
        try await self.adapter.perform(GetDeliveryVehicle.self, request)
    }

    func updateDeliveryVehicle(
        request: ServerRequest<Maps_Fleetengine_Delivery_V1_UpdateDeliveryVehicleRequest>, context: ServerContext
    ) async throws -> ServerResponse<DeliveryVehicle> {
        try await self.adapter.perform(UpdateDeliveryVehicle.self, request)
    }

    func deleteDeliveryVehicle(
        request: ServerRequest<Maps_Fleetengine_Delivery_V1_DeleteDeliveryVehicleRequest>, context: ServerContext
    ) async throws -> ServerResponse<Google_Protobuf_Empty> {
        try await self.adapter.perform(DeleteDeliveryVehicle.self, request)
    }

    func listDeliveryVehicles(
        request: ServerRequest<Maps_Fleetengine_Delivery_V1_ListDeliveryVehiclesRequest>, context: ServerContext
    ) async throws -> ServerResponse<Maps_Fleetengine_Delivery_V1_ListDeliveryVehiclesResponse> {
        try await self.adapter.perform(ListDeliveryVehicles.self, request)
    }

    func createTask(
        request: ServerRequest<Maps_Fleetengine_Delivery_V1_CreateTaskRequest>, context: ServerContext
    ) async throws -> ServerResponse<DeliveryTask> {
        try await self.adapter.perform(CreateTask.self, request)
    }

    func batchCreateTasks(
        request: ServerRequest<Maps_Fleetengine_Delivery_V1_BatchCreateTasksRequest>, context: ServerContext
    ) async throws -> ServerResponse<Maps_Fleetengine_Delivery_V1_BatchCreateTasksResponse> {
        try await self.adapter.perform(BatchCreateTasks.self, request)
    }

    func getTask(
        request: ServerRequest<Maps_Fleetengine_Delivery_V1_GetTaskRequest>, context: ServerContext
    ) async throws -> ServerResponse<DeliveryTask> {
        try await self.adapter.perform(GetTask.self, request)
    }

    func updateTask(
        request: ServerRequest<Maps_Fleetengine_Delivery_V1_UpdateTaskRequest>, context: ServerContext
    ) async throws -> ServerResponse<DeliveryTask> {
        try await self.adapter.perform(UpdateTask.self, request)
    }

    func deleteTask(
        request: ServerRequest<Maps_Fleetengine_Delivery_V1_DeleteTaskRequest>, context: ServerContext
    ) async throws -> ServerResponse<Google_Protobuf_Empty> {
        try await self.adapter.perform(DeleteTask.self, request)
    }

    func listTasks(
        request: ServerRequest<Maps_Fleetengine_Delivery_V1_ListTasksRequest>, context: ServerContext
    ) async throws -> ServerResponse<Maps_Fleetengine_Delivery_V1_ListTasksResponse> {
        try await self.adapter.perform(ListTasks.self, request)
    }

    func getTaskTrackingInfo(
        request: ServerRequest<Maps_Fleetengine_Delivery_V1_GetTaskTrackingInfoRequest>, context: ServerContext
    ) async throws -> ServerResponse<TaskTrackingInfo> {
        try await self.adapter.perform(GetTaskTrackingInfo.self, request)
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import SwiftProtobuf

@testable import FleetEngine

/// Calls the engine itself, without an adapter.
struct DirectWire: WireClient {
    let engine: Engine

    func send(_ call: WireCall, authorization: String?) async throws -> Data {
        let token = authorization.map { String($0.dropFirst("Bearer ".count)) }
        do {
            return switch call {
            case .createVehicle(let it):
                try await self.engine.perform(CreateVehicle.self, it, token: token).serializedBytes()
            case .getVehicle(let it): try await self.engine.perform(GetVehicle.self, it, token: token).serializedBytes()
            case .updateVehicle(let it):
                try await self.engine.perform(UpdateVehicle.self, it, token: token).serializedBytes()
            case .updateVehicleAttributes(let it):
                try await self.engine.perform(UpdateVehicleAttributes.self, it, token: token).serializedBytes()
            case .deleteVehicle(let it):
                try await self.engine.perform(DeleteVehicle.self, it, token: token).serializedBytes()
            case .listVehicles(let it):
                try await self.engine.perform(ListVehicles.self, it, token: token).serializedBytes()
            case .searchVehicles(let it):
                try await self.engine.perform(SearchVehicles.self, it, token: token).serializedBytes()
            case .createTrip(let it): try await self.engine.perform(CreateTrip.self, it, token: token).serializedBytes()
            case .getTrip(let it): try await self.engine.perform(GetTrip.self, it, token: token).serializedBytes()
            case .updateTrip(let it): try await self.engine.perform(UpdateTrip.self, it, token: token).serializedBytes()
            case .deleteTrip(let it): try await self.engine.perform(DeleteTrip.self, it, token: token).serializedBytes()
            case .searchTrips(let it):
                try await self.engine.perform(SearchTrips.self, it, token: token).serializedBytes()
            case .reportBillableTrip(let it):
                try await self.engine.perform(ReportBillableTrip.self, it, token: token).serializedBytes()
            case .createDeliveryVehicle(let it):
                try await self.engine.perform(CreateDeliveryVehicle.self, it, token: token).serializedBytes()
            case .getDeliveryVehicle(let it):
                try await self.engine.perform(GetDeliveryVehicle.self, it, token: token).serializedBytes()
            case .updateDeliveryVehicle(let it):
                try await self.engine.perform(UpdateDeliveryVehicle.self, it, token: token).serializedBytes()
            case .deleteDeliveryVehicle(let it):
                try await self.engine.perform(DeleteDeliveryVehicle.self, it, token: token).serializedBytes()
            case .listDeliveryVehicles(let it):
                try await self.engine.perform(ListDeliveryVehicles.self, it, token: token).serializedBytes()
            case .createTask(let it): try await self.engine.perform(CreateTask.self, it, token: token).serializedBytes()
            case .batchCreateTasks(let it):
                try await self.engine.perform(BatchCreateTasks.self, it, token: token).serializedBytes()
            case .getTask(let it): try await self.engine.perform(GetTask.self, it, token: token).serializedBytes()
            case .updateTask(let it): try await self.engine.perform(UpdateTask.self, it, token: token).serializedBytes()
            case .deleteTask(let it): try await self.engine.perform(DeleteTask.self, it, token: token).serializedBytes()
            case .listTasks(let it): try await self.engine.perform(ListTasks.self, it, token: token).serializedBytes()
            case .getTaskTrackingInfo(let it):
                try await self.engine.perform(GetTaskTrackingInfo.self, it, token: token).serializedBytes()
            }
        } catch let error as EngineError {
            throw WireFailure(status: error.code.rawValue, reason: error.reason, message: error.message)
        }
    }
}

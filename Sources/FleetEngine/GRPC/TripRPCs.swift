// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import GRPCCore
import SwiftProtobuf

/// The trip service of the public API over gRPC: each method hands its call to the adapter.
struct TripRPCs: Maps_Fleetengine_V1_TripService.ServiceProtocol {
    let adapter: GRPCAdapter

    func createTrip(
        request: ServerRequest<Maps_Fleetengine_V1_CreateTripRequest>, context: ServerContext
    ) async throws -> ServerResponse<Trip> {
        try await self.adapter.perform(CreateTrip.self, request)
    }

    func getTrip(
        request: ServerRequest<Maps_Fleetengine_V1_GetTripRequest>, context: ServerContext
    ) async throws -> ServerResponse<Trip> {
        try await self.adapter.perform(GetTrip.self, request)
    }

    func updateTrip(
        request: ServerRequest<Maps_Fleetengine_V1_UpdateTripRequest>, context: ServerContext
    ) async throws -> ServerResponse<Trip> {
        try await self.adapter.perform(UpdateTrip.self, request)
    }

    func deleteTrip(
        request: ServerRequest<Maps_Fleetengine_V1_DeleteTripRequest>, context: ServerContext
    ) async throws -> ServerResponse<Google_Protobuf_Empty> {
        try await self.adapter.perform(DeleteTrip.self, request)
    }

    func searchTrips(
        request: ServerRequest<Maps_Fleetengine_V1_SearchTripsRequest>, context: ServerContext
    ) async throws -> ServerResponse<Maps_Fleetengine_V1_SearchTripsResponse> {
        try await self.adapter.perform(SearchTrips.self, request)
    }

    func reportBillableTrip(
        request: ServerRequest<Maps_Fleetengine_V1_ReportBillableTripRequest>, context: ServerContext
    ) async throws -> ServerResponse<Google_Protobuf_Empty> {
        try await self.adapter.perform(ReportBillableTrip.self, request)
    }
}

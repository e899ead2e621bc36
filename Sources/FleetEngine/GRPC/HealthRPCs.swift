// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import GRPCCore
import SwiftProtobuf

/// gRPC's health checks, which load balancers and orchestrators ask: whether the engine can answer at all.
///
/// They need no token and tell nothing of any provider. The empty name stands for the server as a whole.
struct HealthRPCs: Grpc_Health_V1_Health.SimpleServiceProtocol {
    typealias Status = Grpc_Health_V1_HealthCheckResponse.ServingStatus

    /// How long after a change a watcher hears of it at the latest.
    static let watchInterval = Duration.seconds(1)

    /// The full names of the services that can be asked for.
    let services: Set<String>
    let isServing: @Sendable () async -> Bool
    let clock: any Clock<Duration>

    func check(
        request: Grpc_Health_V1_HealthCheckRequest, context: ServerContext
    ) async throws -> Grpc_Health_V1_HealthCheckResponse {
        let status = await self.status(of: request.service)
        guard status != .serviceUnknown else {
            throw RPCError(code: .notFound, message: "The server has no service \"\(request.service.prefix(64))\".")
        }
        return .with { $0.status = status }
    }

    func watch(
        request: Grpc_Health_V1_HealthCheckRequest,
        response: RPCWriter<Grpc_Health_V1_HealthCheckResponse>,
        context: ServerContext
    ) async throws {
        var last: Status?
        while !context.cancellation.isCancelled {
            let status = await self.status(of: request.service)
            if status != last {
                try await response.write(.with { $0.status = status })
                last = status
            }
            try await self.clock.sleep(for: Self.watchInterval)
        }
    }

    private func status(of service: String) async -> Status {
        guard service.isEmpty || self.services.contains(service) else { return .serviceUnknown }
        return await self.isServing() ? .serving : .notServing
    }
}

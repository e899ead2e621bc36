// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import GRPCCore
import SwiftProtobuf

/// gRPC's health checks, which load balancers and orchestrators ask: whether the engine can answer at all.
///
/// They need no token and tell nothing of any provider. The empty name stands for the server as a whole.
struct HealthRPCs: Grpc_Health_V1_Health.SimpleServiceProtocol {
    typealias Status = Grpc_Health_V1_HealthCheckResponse.ServingStatus

    /// How long after a change a watcher hears of it at the latest.
    static let watchInterval = Duration.seconds(1)

    /// How many watch at once, who are asked for no token.
    static let maximumWatchers = 1000

    /// The full names of the services that can be asked for.
    let services: Set<String>
    let isServing: @Sendable () async -> Bool
    private let time: TimeSource
    private let places = CallPlaces(maximumWatchers)
    private let watching = Locked(Watching())

    /// What all watchers share: one look at the store in each interval.
    private struct Watching {
        var status = Status.unknown
        var isDueAt = Duration.zero
    }

    init(services: Set<String>, isServing: @escaping @Sendable () async -> Bool, time: TimeSource) {
        self.services = services
        self.isServing = isServing
        self.time = time
    }

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
        guard self.places.take() else {
            throw RPCError(code: .resourceExhausted, message: "Too many watch the server's health; use Check.")
        }
        defer { self.places.giveBack() }
        var last: Status?
        while !context.cancellation.isCancelled {
            let status = self.knows(request.service) ? await self.sharedStatus() : .serviceUnknown
            if status != last {
                try await response.write(.with { $0.status = status })
                last = status
            }
            try await self.time.sleep(for: Self.watchInterval)
        }
    }

    /// The status as one of the watchers saw it lately; whoever finds it old looks for all.
    private func sharedStatus() async -> Status {
        let now = self.time.uptime
        let known = self.watching.withLock { watching -> Status? in
            guard watching.status == .unknown || now >= watching.isDueAt else { return watching.status }
            watching.isDueAt = now + Self.watchInterval
            return nil
        }
        if let known { return known }
        let status: Status = await self.isServing() ? .serving : .notServing
        self.watching.withLock { $0.status = status }
        return status
    }

    private func knows(_ service: String) -> Bool { service.isEmpty || self.services.contains(service) }

    private func status(of service: String) async -> Status {
        guard self.knows(service) else { return .serviceUnknown }
        return await self.isServing() ? .serving : .notServing
    }
}

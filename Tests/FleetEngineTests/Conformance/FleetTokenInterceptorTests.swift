// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import SwiftProtobuf
import Testing

@testable import FleetEngine

/// The interceptor in a real client, at an engine that checks what it attaches.
@Suite(.timeLimit(.minutes(10))) struct FleetTokenInterceptorTests {
    private struct NoToken: Error {}

    private static let request = Maps_Fleetengine_V1_GetVehicleRequest.with {
        $0.name = "providers/acme/vehicles/veh-1"
    }

    private func code(
        of interceptor: FleetTokenInterceptor, metadata: Metadata = [:],
        serviceConfig: ServiceConfig = FleetTokenInterceptor.sendingOnceMore,
        _ call: @Sendable (GRPCClient<HTTP2ClientTransport.Posix>, Metadata) async throws -> Void = {
            client, metadata in
            let vehicles = Maps_Fleetengine_V1_VehicleService.Client(wrapping: client)
            _ = try await vehicles.getVehicle(Self.request, metadata: metadata)
        }
    ) async throws -> RPCError? {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        let server = EngineGRPCServer(engine: fixture.engine, host: "127.0.0.1", port: 0)
        async let serving: Void = server.run()
        let error = try await withGRPCClient(
            transport: .http2NIOPosix(
                target: .ipv4(address: "127.0.0.1", port: server.port), transportSecurity: .plaintext,
                serviceConfig: serviceConfig),
            interceptors: [interceptor]
        ) { client -> RPCError? in
            do {
                try await call(client, metadata)
                return nil
            } catch let error as RPCError {
                return error
            }
        }
        server.beginShutdown()
        try await serving
        return error
    }

    @Test func `each call carries the token for its method`() async throws {
        let asked = Locked<[FleetMethod]>([])
        let tokens = FleetTokenInterceptor { method in
            asked.withLock { $0.append(method) }
            return FleetToken(serverToken)
        }
        let error = try await self.code(of: tokens) { client, _ in
            let vehicles = Maps_Fleetengine_V1_VehicleService.Client(wrapping: client)
            for _ in 0..<2 { _ = try await vehicles.getVehicle(Self.request) }
        }
        #expect(error == nil)
        #expect(asked.withLock { $0 } == [.getVehicle, .getVehicle])
    }

    @Test func `the engine refuses what the token does not reach`() async throws {
        let error = try await self.code(of: FleetTokenInterceptor { _ in FleetToken("driver|vehicleid=veh-2") })
        #expect(error?.code == .permissionDenied)
    }

    @Test func `a call with an authorization of its own is left alone`() async throws {
        let tokens = FleetTokenInterceptor { _ in throw NoToken() }
        #expect(try await self.code(of: tokens, metadata: ["authorization": .string("Bearer \(serverToken)")]) == nil)
    }

    @Test func `without a token nothing is sent, and the cause is told`() async throws {
        let error = try await self.code(of: FleetTokenInterceptor { _ in throw NoToken() })
        #expect(error?.code == .unauthenticated)
        #expect(error?.cause is NoToken)
    }

    /// Gives a token that no engine knows until it hears of the refusal.
    private final class Renewing: FleetTokenSource {
        let discarded = Locked<[FleetToken]>([])
        let renewed: FleetToken

        init(_ renewed: FleetToken) { self.renewed = renewed }

        func token(for method: FleetMethod, on resource: ResourceName?) -> FleetToken {
            self.discarded.withLock { $0.isEmpty } ? FleetToken("bad") : self.renewed
        }

        func discard(_ token: FleetToken, for method: FleetMethod, on resource: ResourceName?) {
            self.discarded.withLock { $0.append(token) }
        }
    }

    @Test func `a token that the engine does not accept is replaced once`() async throws {
        let renewing = Renewing(FleetToken(serverToken))
        #expect(try await self.code(of: FleetTokenInterceptor(renewing)) == nil)
        #expect(renewing.discarded.withLock { $0 } == [FleetToken("bad")])
    }

    @Test func `a second refusal is reported`() async throws {
        let failing = Renewing(FleetToken("unknown as well"))
        #expect(try await self.code(of: FleetTokenInterceptor(failing))?.code == .unauthenticated)
        #expect(failing.discarded.withLock { $0 } == [FleetToken("bad"), FleetToken("unknown as well")])
    }

    @Test func `without leave to send once more, the refusal is reported and the next call gets another token`()
        async throws
    {
        let renewing = Renewing(FleetToken(serverToken))
        let interceptor = FleetTokenInterceptor(renewing)
        #expect(try await self.code(of: interceptor, serviceConfig: ServiceConfig())?.code == .unauthenticated)
        #expect(try await self.code(of: interceptor, serviceConfig: ServiceConfig()) == nil)
    }

    @Test func `methods tell which service they belong to`() {
        #expect(FleetMethod.allCases.filter(\.isDelivery).count == 12)
        #expect(FleetMethod.getTask.isDelivery && !FleetMethod.getTrip.isDelivery)
    }
}

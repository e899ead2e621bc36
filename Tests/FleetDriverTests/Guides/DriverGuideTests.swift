// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Testing

/// The lines of the guide "Add tokens to your driver app".
@MainActor struct DriverGuideTests {
    private let clock = ManualClock()

    /// What the guide's `DriverSession` says of the provider and the vehicle.
    private struct Session {
        var provider = "acme-fleet"
        var vehicle = "veh-3"
    }

    /// What the guide's `DriverTokens` hold.
    private struct Tokens {
        let provider: FleetTokenProvider
        let authorization: FleetDriverAuthorization

        init(_ tokens: FleetTokenProvider) {
            let authorization = FleetDriverAuthorization(tokens)
            (self.provider, self.authorization) = (tokens, authorization)
        }
    }

    private func provider(_ server: ChaosTokenServer) throws -> FleetTokenProvider {
        try FleetTokenProvider(endpoint: .fleetpass(server.url), transport: server, clock: self.clock)
    }

    private func makeReporter(tokens: Tokens, session: Session, navigator: Any?) -> GMTDVehicleReporter? {
        let context = GMTDDriverContext(
            accessTokenProvider: tokens.authorization, providerID: session.provider, vehicleID: session.vehicle,
            navigator: navigator)
        let reporter = GMTDRidesharingDriverAPI(driverContext: context)?.vehicleReporter
        return reporter
    }

    @Test func `the context of the guide gives a reporter`() throws {
        let tokens = Tokens(try self.provider(ChaosTokenServer()))
        #expect(self.makeReporter(tokens: tokens, session: Session(), navigator: nil) != nil)
    }

    @Test func `a driver of tasks gets the task into the token`() async throws {
        let server = ChaosTokenServer(clock: self.clock)
        let tokens = Tokens(try self.provider(server))
        let authorization = FleetDriverAuthorization(tokens.provider, service: .scheduledTasks)
        _ = try await authorization.fetchToken(with: GMTDAuthorizationContext(vehicleID: "van-1", taskID: "task-1"))
        let (vehicle, task) = try (DeliveryVehicleID(checking: "van-1"), TaskID(checking: "task-1"))
        #expect(server.requests.map(\.subject) == [.deliveryDriver(vehicle, task: task)])
    }

    @Test func `a token lasts through a tunnel that was prepared for`() async throws {
        let server = ChaosTokenServer(clock: self.clock)
        let tokens = Tokens(try self.provider(server))
        _ = try await tokens.provider.token(for: .driver(VehicleID(checking: "veh-3")))
        self.clock.advance(by: .seconds(40 * 60))
        let vehicle = try VehicleID(checking: "veh-3")
        try await tokens.provider.ensure(valid: .seconds(40 * 60), for: .driver(vehicle))
        server.play(.always(.dropConnection))
        self.clock.advance(by: .seconds(40 * 60))
        _ = try await tokens.provider.token(for: .driver(vehicle))
        #expect(server.requests.count == 2)
    }
}

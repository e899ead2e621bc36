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

    private func provider(_ server: ChaosTokenServer) throws -> FleetTokenProvider {
        try FleetTokenProvider(endpoint: .fleetpass(server.url), transport: server, clock: self.clock)
    }

    private func makeReporter(tokens: FleetTokenProvider, navigator: Any?) -> GMTDVehicleReporter? {
        let context = GMTDDriverContext(
            accessTokenProvider: FleetDriverAuthorization(tokens), providerID: "demo-fleet", vehicleID: "veh-3",
            navigator: navigator)
        let reporter = GMTDRidesharingDriverAPI(driverContext: context)?.vehicleReporter
        return reporter
    }

    @Test func `the context of the guide gives a reporter`() throws {
        #expect(self.makeReporter(tokens: try self.provider(ChaosTokenServer()), navigator: nil) != nil)
    }

    @Test func `a driver of tasks gets the task into the token`() async throws {
        let server = ChaosTokenServer(clock: self.clock)
        let tokens = try self.provider(server)
        let authorization = FleetDriverAuthorization(tokens, service: .scheduledTasks)
        _ = try await authorization.fetchToken(with: GMTDAuthorizationContext(vehicleID: "van-1", taskID: "task-1"))
        let (vehicle, task) = try (DeliveryVehicleID(checking: "van-1"), TaskID(checking: "task-1"))
        #expect(server.requests.map(\.subject) == [.deliveryDriver(vehicle, task: task)])
    }

    @Test func `a token lasts through a tunnel that was prepared for`() async throws {
        let server = ChaosTokenServer(clock: self.clock)
        let tokens = try self.provider(server)
        let vehicle = try VehicleID(checking: "veh-3")
        _ = try await tokens.token(for: .driver(vehicle))
        self.clock.advance(by: .seconds(40 * 60))
        try await tokens.ensure(valid: .seconds(40 * 60), for: .driver(vehicle))
        server.play(.always(.dropConnection))
        self.clock.advance(by: .seconds(40 * 60))
        _ = try await tokens.token(for: .driver(vehicle))
        #expect(server.requests.count == 2)
    }
}

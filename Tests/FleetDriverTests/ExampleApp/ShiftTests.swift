// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

@MainActor @Suite(.timeLimit(.minutes(10))) struct ShiftTests {
    /// The places of a phone whose driver does not let the app have them.
    private struct RefusedPlaces: LocationSource {
        struct Refusal: LocalizedError {
            var errorDescription: String? { "Allow this app your location." }
        }

        func makeAsyncIterator() -> AsyncThrowingStream<LocationFix, any Error>.Iterator {
            let (places, sink) = AsyncThrowingStream.makeStream(of: LocationFix.self)
            sink.finish(throwing: Refusal())
            return places.makeAsyncIterator()
        }
    }

    /// Notes whether the vehicle is reported while places come.
    private final class CountedPlaces: ShiftPlaces {
        let reporter: GMTDVehicleReporter
        var calls: [String] = []

        init(for reporter: GMTDVehicleReporter) {
            self.reporter = reporter
        }

        func start() {
            self.calls.append("start, tracking \(self.reporter.locationTrackingEnabled)")
        }

        func stop() {
            self.calls.append("stop, tracking \(self.reporter.locationTrackingEnabled)")
        }
    }

    private func shift(_ world: DriverSDKWorld, places: (any ShiftPlaces)? = nil) throws -> Shift {
        let session = DriverSession(
            provider: "acme", vehicle: "veh-3", tokenServer: try #require(URL(string: "https://tokens.example")),
            idToken: { "secret" })
        return Shift(
            api: world.api, tokens: try DriverTokens(session: session), vehicle: session.vehicle, places: places)
    }

    @Test func `places come for as long as the shift lasts`() throws {
        let world = try DriverSDKWorld()
        let places = CountedPlaces(for: world.reporter)
        let shift = try self.shift(world, places: places)
        #expect(places.calls.isEmpty)
        for _ in 1...2 {
            shift.start()
            shift.stop()
        }
        // None comes before it is kept, or after the last update has begun.
        #expect(
            places.calls == [
                "start, tracking true", "stop, tracking false", "start, tracking true", "stop, tracking false",
            ])
    }

    @Test(arguments: [false, true]) func `the tokens of a shift end behind its last update`(
        isOffline: Bool
    ) async throws {
        let (gate, release) = AsyncStream.makeStream(of: Never.self)
        let engine = StubTransport { _, index in
            guard index > 0 else { return .ok }
            for await _ in gate {}
            return isOffline ? .offline : .ok
        }
        let world = try DriverSDKWorld(engine: engine)
        let session = DriverSession(
            provider: "acme", vehicle: "veh-3", tokenServer: try #require(URL(string: "https://tokens.example")),
            idToken: { throw URLError(.notConnectedToInternet) })
        let tokens = try DriverTokens(session: session)
        let vehicle = try VehicleID(checking: session.vehicle)
        let shift = Shift(api: world.api, tokens: tokens, vehicle: session.vehicle)
        shift.start()
        _ = try await world.listener.next()
        let end = Task { await shift.signOut() }
        await engine.waitForRequests(2)
        var error = await #expect(throws: TokenClientError.self) {
            try await tokens.provider.token(for: .driver(vehicle))
        }
        #expect(error?.code == .unreachable)
        release.finish()
        #expect(await end.value == isOffline)
        error = await #expect(throws: TokenClientError.self) { try await tokens.provider.token(for: .driver(vehicle)) }
        #expect(error?.code == .refused)
    }

    @Test func `who signs out off shift waits for nothing, and hears how the shift ended`() async throws {
        let world = try DriverSDKWorld(engine: StubTransport([.ok, .offline]))
        let shift = try self.shift(world)
        #expect(await shift.signOut() == false)
        shift.start()
        _ = try await world.listener.next()
        shift.stop()
        _ = try await world.listener.next()
        #expect(await shift.signOut())
        #expect(world.engine.requests.count == 2)
    }

    @Test func `a driver who refused places is told so although the vehicle goes online`() async throws {
        let (engine, release) = StubTransport.takingAll(holding: 0)
        let world = try DriverSDKWorld(engine: engine, locations: RefusedPlaces())
        let shift = try self.shift(world)
        shift.start()
        #expect(try await world.listener.next().error != nil)
        let reason = "Allow this app your location."
        #expect(shift.state.lastUpdate == .failed(state: "offline", reason: reason))
        release.yield()
        #expect(try await world.listener.next().error == nil)
        #expect(shift.state.lastUpdate == .succeeded(state: "online"))
        #expect(shift.state.locationProblem?.reason == reason)
    }

    @Test func `a driver is told of the lack of places until a new one was reported`() throws {
        let world = try DriverSDKWorld()
        let shift = try self.shift(world)
        let cause = NSError(
            domain: GMTDVehicleReporterErrorDomain,
            code: GMTDVehicleReporterErrorCode.noLastKnownLocation.rawValue,
            userInfo: [NSLocalizedDescriptionKey: "None is known."])
        let lack = NSError(domain: "lack", code: 1, userInfo: [NSUnderlyingErrorKey: cause])
        let nowhere = GMTDVehicleUpdate(vehicleState: .offline, location: nil)
        shift.vehicleReporter(world.reporter, didFail: nowhere, withError: lack)
        let problem = try #require(shift.state.locationProblem)
        #expect(problem.reason == "None is known.")
        for (seconds, isOver) in [(nil, false), (-1.0, false), (1.0, true)] {
            let place = try seconds.map {
                try LocationFix(latitude: 1, longitude: 2, time: problem.since.addingTimeInterval($0))
            }
            let update = GMTDVehicleUpdate(vehicleState: .online, location: place)
            shift.vehicleReporter(world.reporter, didSucceed: update)
            #expect((shift.state.locationProblem == nil) == isOver)
        }
        #expect(shift.state.succeeded == 3)
    }

    @Test func `an update that fails for another reason is no lack of places`() throws {
        let world = try DriverSDKWorld()
        let shift = try self.shift(world)
        let error = NSError(domain: "network", code: GMTDVehicleReporterErrorCode.noLastKnownLocation.rawValue)
        shift.vehicleReporter(
            world.reporter, didFail: GMTDVehicleUpdate(vehicleState: .online, location: nil), withError: error)
        #expect(shift.state.lastUpdate != nil && shift.state.locationProblem == nil)
    }
}

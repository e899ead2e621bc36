// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

@MainActor @Suite(.timeLimit(.minutes(10))) struct GMTDVehicleReporterTests {
    @Test func `a vehicle goes online with the fetcher's token`() async throws {
        let world = try DriverSDKWorld()
        let event = try await world.goOnline()
        #expect(event.error == nil)
        #expect(event.update.vehicleState == .online)

        let request = try #require(world.engine.requests.first)
        #expect(request.url.path == "/v1/providers/acme/vehicles/veh-3")
        #expect(try request.json["vehicleState"] as? String == "ONLINE")
        #expect(
            request.authorization
                == TestTokens.token(for: .driver(try VehicleID(checking: "veh-3"))).authorizationHeader)
    }

    @Test func `a vehicle goes online right behind its first location`() async throws {
        let (engine, release) = StubTransport.takingAll(holding: 0)
        let world = try DriverSDKWorld(engine: engine)
        world.reporter.locationTrackingEnabled = true
        world.reporter.record(try .at(1))
        await world.engine.waitForRequests(1)
        world.reporter.update(.online)
        // Time enough for the state to be set, which need not wait for the engine.
        for _ in 0..<10_000 { await Task.yield() }
        release.yield()
        // The clock stands still: no interval passes.
        #expect(try await world.listener.next().update.vehicleState == .offline)
        #expect(try await world.listener.next().update.vehicleState == .online)
    }

    @Test func `the fetcher is asked for each report, with the vehicle`() async throws {
        let contexts = Locked<[GMTDAuthorizationContext?]>([])
        let fetcher = ScriptedDriverFetcher { context, completion in
            contexts.withLock { $0.append(context) }
            ScriptedDriverFetcher().fetchToken(with: context, completion: completion)
        }
        let world = try DriverSDKWorld(fetcher: fetcher)
        _ = try await world.goOnline()
        world.reporter.record(try .at(1))
        _ = try await world.listener.next()
        let seen = contexts.withLock { $0 }
        #expect(seen.map { $0?.vehicleID } == ["veh-3", "veh-3"])
        #expect(seen.allSatisfy { $0?.taskID == nil })
    }

    @Test func `a recorded location reaches the engine and the listener`() async throws {
        let world = try DriverSDKWorld()
        world.reporter.locationTrackingEnabled = true
        world.reporter.record(try .at(7))
        let event = try await world.listener.next()
        #expect(event.update.location == (try .at(7)))
        #expect(event.update.vehicleState == .offline)
        #expect(try world.engine.requests.first?.latitudes == [0.7])
    }

    @Test func `locations come from a source too, and its failure is told`() async throws {
        struct BrokenSource: LocationSource {
            let fix: LocationFix
            func makeAsyncIterator() -> AsyncThrowingStream<LocationFix, any Error>.Iterator {
                let (stream, sink) = AsyncThrowingStream.makeStream(of: LocationFix.self)
                sink.yield(self.fix)
                sink.finish(throwing: URLError(.cannotOpenFile))
                return stream.makeAsyncIterator()
            }
        }
        let world = try DriverSDKWorld(locations: BrokenSource(fix: try .at(4)))
        world.reporter.locationTrackingEnabled = true
        let events = [try await world.listener.next(), try await world.listener.next()]
        #expect(events.contains { $0.update.location?.latitude == 0.4 })
        let cause = try #require(events.compactMap(\.cause).first)
        #expect(cause.code == GMTDVehicleReporterErrorCode.noLastKnownLocation.rawValue)
        #expect(cause.userInfo[NSUnderlyingErrorKey] is URLError)
    }

    @Test func `a source that ends while tracking is on is told of, and one that is stopped is not`() async throws {
        let (stream, fixes) = AsyncStream.makeStream(of: LocationFix.self)
        let world = try DriverSDKWorld(locations: stream)
        world.reporter.locationTrackingEnabled = true
        fixes.yield(try .at(1))
        #expect(try await world.listener.next().update.location?.latitude == 0.1)
        world.reporter.locationTrackingEnabled = false
        #expect(try await world.listener.next().error == nil)

        // The stream ended for good with its first run.
        world.reporter.locationTrackingEnabled = true
        let cause = try #require(try await world.listener.next().cause)
        #expect(cause.code == GMTDVehicleReporterErrorCode.noLastKnownLocation.rawValue)
        #expect(cause.localizedDescription.contains("use StreamLocationSource"))
        world.reporter.record(try .at(2))
        #expect(try await world.listener.next().error == nil)
    }

    @Test func `a source that makes streams serves tracking that is turned off and on`() async throws {
        let (locations, stops) = StreamLocationSource.counting()
        let world = try DriverSDKWorld(locations: locations)
        for latitude in [0.1, 0.2] {
            world.reporter.locationTrackingEnabled = true
            let event = try await world.listener.next()
            #expect(event.error == nil && event.update.location?.latitude == latitude)
            world.reporter.locationTrackingEnabled = false
            for await _ in stops { break }
            #expect(try await world.listener.next().error == nil)
        }
    }

    @Test func `turning tracking off sets the vehicle offline until it is set online again`() async throws {
        let world = try DriverSDKWorld()
        _ = try await world.goOnline()
        world.reporter.locationTrackingEnabled = false
        #expect(try await world.listener.next().update.vehicleState == .offline)

        world.reporter.locationTrackingEnabled = true
        world.reporter.record(try .at(1))
        #expect(try await world.listener.next().update.vehicleState == .offline)
        world.reporter.update(.online)
        #expect(try await world.listener.next().update.vehicleState == .online)
    }

    @Test func `a location that is recorded right before tracking ends goes with the last update`() async throws {
        let (engine, release) = StubTransport.takingAll(holding: 1)
        let world = try DriverSDKWorld(engine: engine)
        _ = try await world.goOnline()
        world.reporter.record(try .at(1))
        await world.engine.waitForRequests(2)
        world.reporter.record(try .at(2))
        world.reporter.locationTrackingEnabled = false
        world.reporter.record(try .at(3))
        // Time enough for tracking to end, if that did not wait for the location.
        for _ in 0..<10_000 { await Task.yield() }
        release.yield()
        #expect(try await world.listener.next().update.vehicleState == .online)
        let last = try await world.listener.next().update
        #expect(last.vehicleState == .offline && last.location?.latitude == 0.2)
        #expect(try world.engine.requests.map { try $0.latitudes } == [[], [0.1], [0.2]])
    }

    @Test func `tracking that ends while its first location waits in its turn ends with one update`() async throws {
        let (engine, release) = StubTransport.takingAll(holding: 0)
        let world = try DriverSDKWorld(engine: engine)
        world.reporter.locationTrackingEnabled = true
        world.reporter.update(.online)
        await engine.waitForRequests(1)
        world.reporter.record(try .at(1))
        // Time enough for the location to wait behind the state.
        for _ in 0..<10_000 { await Task.yield() }
        world.reporter.locationTrackingEnabled = false
        for _ in 0..<10_000 { await Task.yield() }
        release.yield()
        #expect(try await world.listener.next().update.vehicleState == .online)
        let last = try await world.listener.next().update
        #expect(last.vehicleState == .offline && last.location?.latitude == 0.1)
        #expect(try engine.requests.map { try $0.latitudes } == [[], [0.1]])
    }

    @Test func `tracking that is turned off and on begins again behind the last update`() async throws {
        let (engine, release) = StubTransport.takingAll(holding: 1)
        let world = try DriverSDKWorld(engine: engine)
        _ = try await world.goOnline()
        world.reporter.record(try .at(1))
        await world.engine.waitForRequests(2)
        world.reporter.locationTrackingEnabled = false
        world.reporter.locationTrackingEnabled = true
        world.reporter.record(try .at(2))
        // Time enough for tracking to begin again, if that did not wait for the last update.
        for _ in 0..<10_000 { await Task.yield() }
        release.yield()
        #expect(try await world.listener.next().update.vehicleState == .online)
        let last = try await world.listener.next().update
        try #require(last.vehicleState == .offline && last.location == nil)
        #expect(try await world.listener.next().update.location?.latitude == 0.2)
    }

    @Test func `tracking that is turned on twice has one run of its source`() async throws {
        let (locations, stops) = StreamLocationSource.counting()
        let world = try DriverSDKWorld(locations: locations)
        world.reporter.locationTrackingEnabled = true
        world.reporter.locationTrackingEnabled = true
        #expect(try await world.listener.next().update.location?.latitude == 0.1)
        world.reporter.locationTrackingEnabled = false
        for await _ in stops { break }
        let last = try await world.listener.next()
        #expect(last.error == nil && last.update.location == nil)
        #expect(try world.engine.requests.map { try $0.latitudes } == [[0.1], []])
    }

    @Test func `a vehicle whose last update failed can be set offline without tracking`() async throws {
        let world = try DriverSDKWorld(engine: StubTransport([.ok, .offline, .ok]))
        _ = try await world.goOnline()
        world.reporter.locationTrackingEnabled = false
        #expect(try await world.listener.next().error != nil)
        world.reporter.update(.offline)
        let event = try await world.listener.next()
        #expect(event.error == nil && event.update.vehicleState == .offline)
        let states = try world.engine.requests.map { try $0.json["vehicleState"] as? String }
        #expect(states == ["ONLINE", "OFFLINE", "OFFLINE"])
    }

    @Test func `a vehicle that a killed app left online can be set offline without tracking`() async throws {
        let world = try DriverSDKWorld()
        world.reporter.update(.offline)
        let event = try await world.listener.next()
        #expect(event.error == nil && event.update.vehicleState == .offline)
        #expect(try world.engine.requests.map { try $0.json["vehicleState"] as? String } == ["OFFLINE"])
    }

    @Test func `reports repeat at the interval that is set`() async throws {
        let world = try DriverSDKWorld()
        world.reporter.locationReportingInterval = 20
        world.reporter.locationTrackingEnabled = true
        world.reporter.record(try .at(1))
        _ = try await world.listener.next()
        for count in 2...3 {
            // What is left out is the time limit of each call.
            #expect(await world.recorder.passNextSleep(except: .seconds(8)) == .seconds(20))
            _ = try await world.listener.next()
            #expect(world.engine.requests.count == count)
        }
    }

    @Test(arguments: [
        (1, 5), (4.99, 5), (5, 5), (12.5, 12.5), (60, 60), (61, 60), (-1, 5), (.infinity, 60), (.nan, 10),
    ])
    func `the reporting interval is clamped`(wanted: TimeInterval, kept: TimeInterval) throws {
        let world = try DriverSDKWorld()
        #expect(world.reporter.locationReportingInterval == 10)
        world.reporter.locationReportingInterval = wanted
        #expect(world.reporter.locationReportingInterval == kept)
    }

    // MARK: - Failures

    @Test func `going online without tracking fails`() async throws {
        let world = try DriverSDKWorld()
        world.reporter.update(.online)
        let event = try await world.listener.next()
        #expect(event.error?.domain == GMTDVehicleReporterErrorDomain)
        #expect(event.error?.code == GMTDVehicleReporterErrorCode.general.rawValue)
        #expect(event.cause?.domain == GMTDVehicleReporterErrorDomain)
        #expect(event.cause?.code == GMTDVehicleReporterErrorCode.locationTrackingNotEnabled.rawValue)
        #expect(event.update.vehicleState == .online)
        #expect(world.engine.requests.isEmpty)
    }

    @Test func `a state that was set while tracking was on is never told as set without it`() async throws {
        let world = try DriverSDKWorld()
        world.reporter.locationTrackingEnabled = true
        for state in [GMTDVehicleState.online, .offline, .online] { world.reporter.update(state) }
        world.reporter.locationTrackingEnabled = false
        world.reporter.locationTrackingEnabled = true
        world.reporter.update(.online)
        var events: [RecordingDriverListener.Event] = []
        var isBackOnline: Bool {
            let succeeded = events.filter { $0.error == nil }
            return succeeded.last?.update.vehicleState == .online
                && succeeded.contains { $0.update.vehicleState == .offline }
        }
        while !isBackOnline { events.append(try await world.listener.next()) }
        #expect(events.compactMap(\.cause).isEmpty)
    }

    @Test(arguments: [(403, 7), (401, 16), (404, 5), (503, 14)])
    func `the engine's refusal arrives with gRPC's number`(status: Int, code: Int) async throws {
        let world = try DriverSDKWorld(engine: StubTransport([.status(status)]))
        let event = try await world.goOnline()
        #expect(event.error?.code == 1)
        #expect(event.error?.localizedDescription == "Vehicle update failed.")
        #expect(event.cause?.domain == "io.grpc")
        #expect(event.cause?.code == code)
    }

    @Test func `a fetcher's own error is at the bottom, and the next report asks again`() async throws {
        let isBroken = Locked(true)
        let world = try DriverSDKWorld(
            fetcher: ScriptedDriverFetcher { context, completion in
                if isBroken.withLock({ $0 }) { return completion(nil, URLError(.notConnectedToInternet)) }
                ScriptedDriverFetcher().fetchToken(with: context, completion: completion)
            })
        let event = try await world.goOnline()
        #expect(event.cause?.domain == "io.grpc")
        #expect((event.cause?.userInfo[NSUnderlyingErrorKey] as? URLError)?.code == .notConnectedToInternet)
        #expect(world.engine.requests.isEmpty)

        isBroken.withLock { $0 = false }
        world.reporter.record(try .at(1))
        #expect(try await world.listener.next().error == nil)
    }

    @Test func `a fetcher that forgets its completion costs one report`() async throws {
        let world = try DriverSDKWorld(fetcher: ScriptedDriverFetcher { _, _ in })
        let event = try await world.goOnline()
        #expect(event.cause?.code == RPCCode.internalError.number)
        #expect(event.cause?.localizedDescription.contains("gave up its completion") == true)
    }

    @Test func `a context that will not do makes no driver API, and says why`() throws {
        func context(
            provider: String = "acme", vehicle: String = "veh-3", url: String = "https://engine.example"
        )
            -> GMTDDriverContext
        {
            GMTDDriverContext(
                accessTokenProvider: ScriptedDriverFetcher(), providerID: provider, vehicleID: vehicle,
                engine: EngineConnection(url: URL(string: url), transport: StubTransport([])))
        }
        for broken in [context(provider: ""), context(vehicle: "veh/3"), context(url: "http://engine.example")] {
            #expect(GMTDRidesharingDriverAPI(driverContext: broken) == nil)
        }
        #expect(throws: TokenError.self) { try GMTDRidesharingDriverAPI(checking: context(vehicle: "*")) }
        #expect(throws: TokenClientError.self) {
            try GMTDRidesharingDriverAPI(checking: context(url: "http://engine.example"))
        }
    }

    // MARK: - The adoption source

    @Test func `a provider's tokens drive a vehicle through the adoption source`() async throws {
        let tokens = StubTokenProvider()
        let world = try DriverSDKWorld(fetcher: FleetDriverAuthorization(tokens))
        #expect(try await world.goOnline().error == nil)
        #expect(tokens.subjects == [.driver(try VehicleID(checking: "veh-3"))])
    }

    @Test func `a provider's failure keeps its kind through the adoption source`() async throws {
        let refusing = StubTokenProvider { _, _ in throw TokenClientError(code: .refused, message: "Sign in again.") }
        let world = try DriverSDKWorld(fetcher: FleetDriverAuthorization(refusing))
        let event = try await world.goOnline()
        #expect(event.cause?.code == RPCCode.unauthenticated.number)
        #expect(event.cause?.localizedDescription == "Sign in again.")
    }

    @Test func `a refused token is replaced through the adoption source`() async throws {
        let tokens = StubTokenProvider()
        let world = try DriverSDKWorld(
            fetcher: FleetDriverAuthorization(tokens), engine: StubTransport([.status(401), .ok]))
        #expect(try await world.goOnline().error == nil)
        let driver = TokenSubject.driver(try VehicleID(checking: "veh-3"))
        let refused = TestTokens.token(for: driver)
        let next = TestTokens.token(for: driver, serial: 1)
        #expect(tokens.invalidated == [refused])
        #expect(
            world.engine.requests.map(\.authorization) == [refused.authorizationHeader, next.authorizationHeader])
    }

    // MARK: - Lifetimes

    @Test func `listeners are not kept alive, and hear once however often they are added`() async throws {
        let world = try DriverSDKWorld()
        weak var gone: RecordingDriverListener?
        do {
            let listener = RecordingDriverListener()
            gone = listener
            world.reporter.add(listener)
        }
        #expect(gone == nil)
        let removed = RecordingDriverListener()
        world.reporter.add(removed)
        world.reporter.remove(removed)
        world.reporter.add(world.listener)

        #expect(try await world.goOnline().update.vehicleState == .online)
        world.reporter.locationTrackingEnabled = false
        #expect(try await world.listener.next().update.vehicleState == .offline)
    }

    @Test func `a listener that is removed inside a callback hears nothing more`() async throws {
        let world = try DriverSDKWorld()
        let removed = RecordingDriverListener()
        let reporter = world.reporter
        world.listener.atSuccess = { reporter.remove(removed) }
        reporter.add(removed)
        #expect(try await world.goOnline().update.vehicleState == .online)

        world.listener.atSuccess = nil
        reporter.add(removed)
        reporter.locationTrackingEnabled = false
        #expect(try await removed.next().update.vehicleState == .offline)
    }

    @Test func `a reporter that nobody holds ends`() async throws {
        weak var reporter: GMTDVehicleReporter?
        let engine = StubTransport([.ok])
        do {
            let world = try DriverSDKWorld(engine: engine)
            reporter = world.reporter
            _ = try await world.goOnline()
            #expect(reporter != nil)
        }
        #expect(reporter == nil)
    }

    @Test func `a reporter that nobody holds cuts off its report, and stops its source of locations`() async throws {
        let (locations, stops) = StreamLocationSource.counting()
        let (engine, release) = StubTransport.takingAll(holding: 0)
        let (cuts, cut) = AsyncStream.makeStream(of: Void.self)
        release.onTermination = { _ in cut.yield() }
        do {
            let world = try DriverSDKWorld(engine: engine, locations: locations)
            world.reporter.locationTrackingEnabled = true
            await engine.waitForRequests(1)
            #expect(world.reporter.locationTrackingEnabled)
        }
        for await _ in stops { break }
        for await _ in cuts { break }
        // Time enough for a last report, which there is none of.
        for _ in 0..<10_000 { await Task.yield() }
        #expect(engine.requests.count == 1)
    }

    @Test func `a fetcher can be asked as an async function`() async throws {
        let token = try await ScriptedDriverFetcher().fetchToken(with: GMTDAuthorizationContext(vehicleID: "veh-9"))
        let expected = TestTokens.token(for: .driver(try VehicleID(checking: "veh-9")))
        #expect(token == expected.compactSerialization)
    }
}

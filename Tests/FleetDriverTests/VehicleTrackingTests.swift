// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct VehicleTrackingTests {
    // MARK: - State

    @Test func `a vehicle is offline until it is set online`() async throws {
        let world = try ReporterWorld()
        #expect(await world.reporter.state == .offline)
        #expect(await !world.reporter.isTracking)
        #expect(try await world.report(1).state == .offline)
    }

    @Test func `a vehicle cannot go online while tracking is off`() async throws {
        let world = try ReporterWorld()
        let error = await #expect(throws: DriverError.self) { try await world.reporter.setState(.online) }
        #expect(error?.code == .trackingDisabled)
        #expect(world.engine.requests.isEmpty)
        #expect(await world.reporter.state == .offline)
    }

    @Test func `a new state is reported at once, even without a location`() async throws {
        let world = try ReporterWorld()
        await world.reporter.startTracking()
        await world.reporter.reportNow()
        #expect(world.engine.requests.isEmpty)
        try await world.reporter.setState(.online)
        #expect(try await world.event().state == .online)
        #expect(world.engine.requests.map(\.mask) == ["vehicle_state"])
        await world.reporter.reportNow()
        #expect(world.engine.requests.count == 1)
    }

    @Test func `a state that is set while a report is on its way goes out right behind it`() async throws {
        let (engine, release) = StubTransport.takingAll(holding: 0)
        let world = try ReporterWorld(engine: engine)
        let reporter = world.reporter
        await reporter.startTracking()
        let (fixes, source) = AsyncStream.makeStream(of: LocationFix.self)
        let run = Task { try await reporter.run(reporting: fixes) }
        source.yield(try .at(1))
        await world.engine.waitForRequests(1)
        let online = Task { try await reporter.setState(.online) }
        while await reporter.state != .online { await Task.yield() }
        #expect(world.engine.requests.count == 1)
        release.yield()
        // The clock stands still: no interval passes.
        try await online.value
        source.finish()
        try await run.value
        #expect(try world.engine.requests.map { try $0.json["vehicleState"] as? String } == ["OFFLINE", "ONLINE"])
        #expect(try world.engine.requests.map { try $0.latitudes } == [[0.1], [0.1]])
    }

    @Test func `whoever sets the state while a report is on its way shares the one behind it`() async throws {
        let (engine, release) = StubTransport.takingAll(holding: 0)
        let world = try ReporterWorld(engine: engine)
        let reporter = world.reporter
        await reporter.startTracking()
        await reporter.record(try .at(1))
        let first = Task { await reporter.reportNow() }
        await world.engine.waitForRequests(1)
        var callers: [Task<Void, any Error>] = []
        for state in [VehicleState.online, .offline, .online] {
            callers.append(Task { try await reporter.setState(state) })
            while await reporter.state != state { await Task.yield() }
        }
        release.yield()
        await first.value
        for caller in callers { try await caller.value }
        #expect(try world.engine.requests.map { try $0.json["vehicleState"] as? String } == ["OFFLINE", "ONLINE"])
    }

    @Test func `a state that could not be reported is repeated while tracking is on`() async throws {
        let world = try ReporterWorld(engine: StubTransport([.offline, .ok]))
        await world.reporter.startTracking()
        try await world.reporter.setState(.online)
        #expect(try await world.event().failure != nil)
        await world.reporter.reportNow()
        let event = try await world.event()
        #expect(event.failure == nil && event.state == .online)
    }

    @Test func `a vehicle that may be online is set offline, also before its first location`() async throws {
        let world = try ReporterWorld(engine: StubTransport([.offline, .ok]))
        await world.reporter.startTracking()
        try await world.reporter.setState(.online)
        #expect(try await world.event().failure != nil)
        try await world.reporter.setState(.offline)
        #expect(try await world.event().state == .offline)
        #expect(try world.engine.requests.map { try $0.json["vehicleState"] as? String } == ["ONLINE", "OFFLINE"])
    }

    @Test func `a vehicle whose report was cancelled on its way may be online too`() async throws {
        let world = try ReporterWorld(engine: StubTransport([.silence, .ok]))
        let reporter = world.reporter
        await reporter.startTracking()
        let online = Task { try await reporter.setState(.online) }
        await world.engine.waitForRequests(1)
        online.cancel()
        try await online.value
        try await reporter.setState(.offline)
        #expect(try await world.event().state == .offline)
        #expect(world.engine.requests.count == 2)
    }

    @Test func `a vehicle that is known to be offline is left alone`() async throws {
        let isRefused = Locked(false)
        let world = try ReporterWorld(
            tokens: StubTokenProvider { subject, _ in
                if isRefused.withLock({ $0 }) { throw TokenClientError(code: .refused, message: "Not yours.") }
                return TestTokens.token(for: subject)
            })
        await world.reporter.startTracking()
        try await world.reporter.setState(.offline)
        #expect(try await world.event().failure == nil)
        isRefused.withLock { $0 = true }
        try await world.reporter.setState(.online)
        #expect(try await world.event().failure?.stage == .token)
        try await world.reporter.setState(.offline)
        #expect(world.tokens.subjects.count == 2)
    }

    @Test func `a vehicle whose report was cancelled while its token was fetched is as before`() async throws {
        let isHeld = Locked(false)
        let (gate, release) = AsyncStream.makeStream(of: Never.self)
        let world = try ReporterWorld(
            tokens: StubTokenProvider { subject, _ in
                if isHeld.withLock({ $0 }) { for await _ in gate {} }
                return TestTokens.token(for: subject)
            })
        let reporter = world.reporter
        await reporter.startTracking()
        try await reporter.setState(.offline)
        #expect(try await world.event().failure == nil)
        isHeld.withLock { $0 = true }
        let online = Task { try await reporter.setState(.online) }
        while world.tokens.subjects.count < 2 { await Task.yield() }
        online.cancel()
        try await online.value
        isHeld.withLock { $0 = false }
        release.finish()
        try await reporter.setState(.offline)
        #expect(world.engine.requests.count == 1)
    }

    @Test(arguments: [false, true])
    func `a vehicle that was left online before is set offline once`(isTracking: Bool) async throws {
        let world = try ReporterWorld()
        if isTracking { await world.reporter.startTracking() }
        await world.reporter.reportNow()
        #expect(world.engine.requests.isEmpty)
        for _ in 1...2 { try await world.reporter.setState(.offline) }
        await world.reporter.reportNow()
        let bodies = try world.engine.requests.map { String(decoding: try #require($0.body), as: UTF8.self) }
        #expect(bodies == [#"{"vehicleState":"OFFLINE"}"#])
    }

    @Test func `the end of tracking sends one update that sets the vehicle offline`() async throws {
        let world = try ReporterWorld()
        _ = try await world.report(1)
        try await world.reporter.setState(.online)
        _ = try await world.event()
        await world.reporter.stopTracking()
        await world.reporter.stopTracking()
        #expect(try await world.event().state == .offline)
        #expect(world.engine.requests.count == 3)
        #expect(try world.engine.requests.last?.json["vehicleState"] as? String == "OFFLINE")
        #expect(world.engine.requests.last?.mask == "vehicle_state")
    }

    @Test func `a vehicle whose last update failed is set offline without tracking, until the engine has it so`()
        async throws
    {
        let world = try ReporterWorld(engine: StubTransport([.ok, .offline, .status(503), .ok]))
        await world.reporter.startTracking()
        try await world.reporter.setState(.online)
        await world.reporter.stopTracking()
        for _ in 1...3 { try await world.reporter.setState(.offline) }
        await world.reporter.reportNow()
        #expect(
            try world.engine.requests.dropFirst().map { String(decoding: try #require($0.body), as: UTF8.self) }
                == Array(repeating: #"{"vehicleState":"OFFLINE"}"#, count: 3))
        let events = [
            try await world.event(), try await world.event(), try await world.event(), try await world.event(),
        ]
        #expect(events.map(\.state) == [.online, .offline, .offline, .offline])
        #expect(events.map { $0.failure == nil } == [true, false, false, true])
        #expect(events.allSatisfy { $0.unsentCount == 0 && $0.location == nil })
    }

    @Test func `a vehicle is set offline that an update may have set online, though that failed`() async throws {
        let world = try ReporterWorld(engine: StubTransport([.ok, .offline, .ok]))
        await world.reporter.startTracking()
        for state in [VehicleState.offline, .online, .offline] { try await world.reporter.setState(state) }
        let states = try world.engine.requests.map { try $0.json["vehicleState"] as? String }
        #expect(states == ["OFFLINE", "ONLINE", "OFFLINE"])
        // Now that is known.
        await world.reporter.reportNow()
        #expect(world.engine.requests.count == 3)
    }

    @Test func `a vehicle is set offline that an update may have set online, though that was cancelled`() async throws {
        let world = try ReporterWorld(engine: StubTransport([.ok, .silence, .ok]))
        let reporter = world.reporter
        await reporter.startTracking()
        try await reporter.setState(.offline)
        let online = Task { try await reporter.setState(.online) }
        await world.engine.waitForRequests(2)
        online.cancel()
        try await online.value
        try await reporter.setState(.offline)
        let states = try world.engine.requests.map { try $0.json["vehicleState"] as? String }
        #expect(states == ["OFFLINE", "ONLINE", "OFFLINE"])
    }

    @Test func `a failed update does not make the engine forget a state that it is known to have`() async throws {
        let world = try ReporterWorld(engine: StubTransport([.ok, .offline, .ok]))
        #expect(try await world.report(1).failure == nil)
        await world.reporter.stopTracking()
        try await world.reporter.setState(.offline)
        #expect(world.engine.requests.count == 2)
    }

    @Test func `a location that is recorded after tracking began again outlives the update that ended it`()
        async throws
    {
        let (held, release) = AsyncStream.makeStream(of: Void.self)
        let world = try ReporterWorld(
            engine: StubTransport { _, index in
                if index == 0 { for await _ in held { break } }
                return index == 0 ? .offline : .ok
            })
        let reporter = world.reporter
        await reporter.startTracking()
        let end = Task { await reporter.stopTracking() }
        await world.engine.waitForRequests(1)
        await reporter.startTracking()
        await reporter.record(try .at(1))
        release.yield()
        await end.value
        await reporter.reportNow()
        #expect(try world.engine.requests.last?.latitudes == [0.1])
    }

    @Test func `a vehicle that is set offline while its last update is on its way is not told twice`() async throws {
        let (engine, release) = StubTransport.takingAll(holding: 1)
        let world = try ReporterWorld(engine: engine)
        let reporter = world.reporter
        await reporter.startTracking()
        try await reporter.setState(.online)
        let end = Task { await reporter.stopTracking() }
        await world.engine.waitForRequests(2)
        let offline = Task { try await reporter.setState(.offline) }
        await world.bide()
        release.yield()
        await end.value
        try await offline.value
        #expect(world.engine.requests.count == 2)
    }

    @Test func `a vehicle that is set offline is so where tracking starts again meanwhile`() async throws {
        let (held, release) = AsyncStream.makeStream(of: Void.self)
        let world = try ReporterWorld(
            engine: StubTransport { _, index in
                guard index == 1 else { return .ok }
                for await _ in held { break }
                return .status(503)
            })
        let reporter = world.reporter
        await reporter.startTracking()
        try await reporter.setState(.online)
        let end = Task { await reporter.stopTracking() }
        await world.engine.waitForRequests(2)
        let offline = Task { try await reporter.setState(.offline) }
        await world.bide()
        await reporter.startTracking()
        release.yield()
        await end.value
        try await offline.value
        #expect(world.engine.requests.count == 3)
        let body = try #require(world.engine.requests.last?.body)
        #expect(String(decoding: body, as: UTF8.self) == #"{"vehicleState":"OFFLINE"}"#)
    }

    @Test func `the end of tracking sets no vehicle offline that was set online again meanwhile`() async throws {
        let (engine, release) = StubTransport.takingAll(holding: 0)
        let world = try ReporterWorld(engine: engine)
        let reporter = world.reporter
        await reporter.startTracking()
        let first = Task { try await reporter.setState(.online) }
        await world.engine.waitForRequests(1)
        let end = Task { await reporter.stopTracking() }
        await world.bide()
        await reporter.startTracking()
        let again = Task { try await reporter.setState(.online) }
        while await reporter.state != .online { await Task.yield() }
        release.yield()
        await end.value
        try await first.value
        try await again.value
        let bodies = world.engine.requests.compactMap { $0.body.map { String(decoding: $0, as: UTF8.self) } }
        #expect(!bodies.contains { $0.contains("OFFLINE") }, "\(bodies)")
        #expect(await reporter.state == .online)
    }

    @Test func `after tracking starts again the vehicle stays offline until it is set`() async throws {
        let world = try ReporterWorld()
        await world.reporter.startTracking()
        try await world.reporter.setState(.online)
        await world.reporter.stopTracking()
        _ = try await world.event()
        _ = try await world.event()
        #expect(try await world.report(2).state == .offline)
        try await world.reporter.setState(.online)
        #expect(try await world.event().state == .online)
    }

    @Test func `without tracking nothing is kept, sent or repeated`() async throws {
        let world = try ReporterWorld(engine: StubTransport([.offline, .offline, .ok]))
        #expect(try await world.report(1).unsentCount == 1)
        await world.reporter.stopTracking()
        let last = try await world.event()
        #expect(last.failure != nil && last.location?.latitude == 0.1)
        #expect(last.unsentCount == 0 && last.droppedCount == 1)
        await world.reporter.record(try .at(2))
        await world.reporter.reportNow()
        #expect(world.engine.requests.count == 2)
        await world.reporter.startTracking()
        await world.reporter.reportNow()
        #expect(world.engine.requests.count == 2)
    }

    @Test func `the last update waits for the report that is on its way`() async throws {
        let (held, release) = AsyncStream.makeStream(of: Void.self)
        let running = Counter()
        let world = try ReporterWorld(
            engine: StubTransport { _, index in
                running.enter()
                defer { running.leave() }
                if index == 0 { for await _ in held { break } }
                return .ok
            })
        await world.reporter.startTracking()
        let reporter = world.reporter
        let online = Task { try await reporter.setState(.online) }
        await world.engine.waitForRequests(1)
        let end = Task { await reporter.stopTracking() }
        while await reporter.isTracking { await Task.yield() }
        await world.bide()
        #expect(world.engine.requests.count == 1)
        release.yield()
        try await online.value
        await end.value
        #expect(try await world.event().state == .online)
        #expect(try await world.event().state == .offline)
        #expect(running.most == 1)
    }

    @Test func `whoever ends tracking once more waits for the last update too`() async throws {
        let (engine, release) = StubTransport.takingAll(holding: 0)
        let world = try ReporterWorld(engine: engine)
        let reporter = world.reporter
        await reporter.startTracking()
        let first = Task { await reporter.stopTracking() }
        await world.engine.waitForRequests(1)
        let hasEnded = Locked(false)
        let second = Task {
            await reporter.stopTracking()
            hasEnded.withLock { $0 = true }
        }
        await world.bide()
        #expect(hasEnded.withLock { !$0 })
        release.yield()
        await second.value
        #expect(try await world.event().state == .offline)
        await first.value
        #expect(world.engine.requests.count == 1)
    }

    @Test func `the last update is sent even by a cancelled task`() async throws {
        let world = try ReporterWorld()
        await world.reporter.startTracking()
        let reporter = world.reporter
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await reporter.stopTracking()
        }
        await task.value
        let event = try await world.event()
        #expect(event.state == .offline && event.failure == nil)
    }

    // MARK: - Intervals and limits

    @Test(arguments: [(1, 5), (5, 5), (10, 10), (60, 60), (300, 60)])
    func `the interval is clamped`(wanted: Int, got: Int) {
        var configuration = VehicleReporterConfiguration(reportingInterval: .seconds(wanted))
        #expect(configuration.reportingInterval == .seconds(got))
        configuration.reportingInterval = .seconds(30)
        configuration.reportingInterval = .seconds(wanted)
        #expect(configuration.reportingInterval == .seconds(got))
    }

    @Test func `the defaults are those of the driver SDK`() {
        let configuration = VehicleReporterConfiguration()
        #expect(configuration.reportingInterval == .seconds(10))
        #expect(configuration.capacity == 360)
    }

    @Test func `reports go out at the interval`() async throws {
        let recorder = SleepRecorder()
        let configuration = VehicleReporterConfiguration(reportingInterval: .seconds(20))
        let world = try ReporterWorld(configuration: configuration, recorder: recorder)
        let (fixes, source) = AsyncStream.makeStream(of: LocationFix.self)
        await world.reporter.startTracking()
        let reporter = world.reporter
        let run = Task { try await reporter.run(reporting: fixes) }
        #expect(await recorder.sleeps.first { _ in true } == .seconds(20))
        source.yield(try .at(1))
        _ = try await world.event()
        recorder.clock.advance(by: .seconds(20))
        for count in 2...4 {
            _ = try await world.event()
            #expect(world.engine.requests.count == count)
            #expect(await recorder.passNextSleep(except: configuration.timeLimit) == .seconds(20))
        }
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
    }

    @Test func `reports go out at the interval also where the engine asks to wait longer`() async throws {
        let recorder = SleepRecorder()
        let configuration = VehicleReporterConfiguration()
        let busy = HTTPTransportResponse(status: 503, headers: [("Retry-After", "60")])
        let world = try ReporterWorld(
            engine: StubTransport([.response(busy)]), configuration: configuration, recorder: recorder)
        let reporter = world.reporter
        let (fixes, source) = AsyncStream.makeStream(of: LocationFix.self)
        await reporter.startTracking()
        let run = Task { try await reporter.run(reporting: fixes) }
        source.yield(try .at(1))
        for _ in 1...3 {
            #expect(try await world.event().failure?.retryAfter == .seconds(60))
            #expect(await recorder.passNextSleep(except: configuration.timeLimit) == .seconds(10))
        }
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
    }

    @Test func `a report that is due while another is on its way is put off by an interval`() async throws {
        let (held, release) = AsyncStream.makeStream(of: Void.self)
        let world = try ReporterWorld(
            engine: StubTransport { _, index in
                if index == 1 { for await _ in held { break } }
                return index == 0 ? .silence : .ok
            })
        let reporter = world.reporter
        await reporter.startTracking()
        let online = Task { try await reporter.setState(.online) }
        await world.engine.waitForRequests(1)
        let (fixes, source) = AsyncStream.makeStream(of: LocationFix.self)
        let run = Task { try await reporter.run(reporting: fixes) }
        source.yield(try .at(1))
        await world.bide()
        // The time limit of the first, and the interval.
        await world.clock.waitForSleepers(2)
        world.clock.advance(by: .seconds(8))
        try await online.value
        await world.engine.waitForRequests(2)
        await world.clock.waitForSleepers(2)
        world.clock.advance(by: .seconds(2))
        await world.clock.waitForSleepers(2)
        release.finish()
        _ = try await world.event()
        #expect(try await world.event().failure == nil)
        #expect(world.engine.requests.count == 2)
        world.clock.advance(by: .seconds(10))
        await world.engine.waitForRequests(3)
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
    }

    @Test func `what a source yielded last is reported when it ends`() async throws {
        let world = try ReporterWorld()
        await world.reporter.startTracking()
        let fixes = AsyncStream<LocationFix> { source in
            for second in 1...3 { if let fix = try? LocationFix.at(second) { source.yield(fix) } }
            source.finish()
        }
        try await world.reporter.run(reporting: fixes)
        #expect(try world.engine.requests.map { try $0.latitudes } == [[0.1], [0.2, 0.3]])
        #expect(try await world.event().failure == nil)
        #expect(try await world.event().unsentCount == 0)
    }

    @Test func `a source that keeps no more than its newest location loses none while the first is on its way`()
        async throws
    {
        let (engine, release) = StubTransport.takingAll(holding: 0)
        let world = try ReporterWorld(engine: engine)
        let reporter = world.reporter
        await reporter.startTracking()
        let (places, service) = AsyncStream.makeStream(of: LocationFix.self, bufferingPolicy: .bufferingNewest(1))
        let (asked, ask) = AsyncStream.makeStream(of: Void.self)
        let source = AsyncStream {
            ask.yield()
            return await places.first { _ in true }
        }
        let run = Task { try await reporter.run(reporting: source) }
        for second in 1...11 {
            for await _ in asked { break }
            service.yield(try .at(second))
            await engine.waitForRequests(1)
        }
        for await _ in asked { break }
        service.finish()
        release.yield()
        try await run.value
        let later = (2...11).map { Double($0) / 10 }
        #expect(try engine.requests.map { try $0.latitudes } == [[0.1], later])
        #expect(try await world.event().location?.latitude == 0.1)
        let event = try await world.event()
        #expect(event.pastLocationCount == 9 && event.droppedCount == 0)
    }

    @Test func `a source that fails while its first location is on its way does not cut that off`() async throws {
        struct BrokenSource: LocationSource {
            let fixes: AsyncThrowingStream<LocationFix, any Error>
            func makeAsyncIterator() -> AsyncThrowingStream<LocationFix, any Error>.Iterator {
                self.fixes.makeAsyncIterator()
            }
        }
        let (engine, release) = StubTransport.takingAll(holding: 0)
        let world = try ReporterWorld(engine: engine)
        let reporter = world.reporter
        await reporter.startTracking()
        let (fixes, source) = AsyncThrowingStream.makeStream(of: LocationFix.self)
        let run = Task { try await reporter.run(reporting: BrokenSource(fixes: fixes)) }
        source.yield(try .at(1))
        await engine.waitForRequests(1)
        source.finish(throwing: URLError(.cannotOpenFile))
        await world.bide()
        release.yield()
        await #expect(throws: URLError.self) { try await run.value }
        let event = try await world.event()
        #expect(event.failure == nil && event.unsentCount == 0)
    }

    @Test func `a run that is cancelled while its last locations are on their way says so`() async throws {
        let world = try ReporterWorld(engine: StubTransport([.ok, .silence]))
        let reporter = world.reporter
        await reporter.startTracking()
        let fixes = AsyncStream<LocationFix> { source in
            for second in 1...2 { if let fix = try? LocationFix.at(second) { source.yield(fix) } }
            source.finish()
        }
        let run = Task { try await reporter.run(reporting: fixes) }
        await world.engine.waitForRequests(2)
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
    }

    @Test func `the first location goes out right behind the state that is on its way`() async throws {
        let (engine, release) = StubTransport.takingAll(holding: 0)
        let world = try ReporterWorld(engine: engine)
        let reporter = world.reporter
        await reporter.startTracking()
        let online = Task { try await reporter.setState(.online) }
        await world.engine.waitForRequests(1)
        let (fixes, source) = AsyncStream.makeStream(of: LocationFix.self)
        let run = Task { try await reporter.run(reporting: fixes) }
        source.yield(try .at(1))
        await world.bide()
        #expect(world.engine.requests.count == 1)
        release.yield()
        try await online.value
        // The clock stands still: no interval passes.
        await world.engine.waitForRequests(2)
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
        #expect(try world.engine.requests.map { try $0.latitudes } == [[], [0.1]])
    }

    @Test func `what a source yielded last is reported right behind the state that is on its way`() async throws {
        let (engine, release) = StubTransport.takingAll(holding: 1)
        let world = try ReporterWorld(engine: engine)
        let reporter = world.reporter
        await reporter.startTracking()
        let (fixes, source) = AsyncStream.makeStream(of: LocationFix.self)
        let run = Task { try await reporter.run(reporting: fixes) }
        source.yield(try .at(1))
        _ = try await world.event()
        let online = Task { try await reporter.setState(.online) }
        await world.engine.waitForRequests(2)
        source.yield(try .at(2))
        source.finish()
        await world.bide()
        release.yield()
        try await online.value
        try await run.value
        #expect(try world.engine.requests.map { try $0.latitudes } == [[0.1], [0.1], [0.2]])
    }

    @Test func `the end of a source cuts off no report that is on its way`() async throws {
        let (engine, release) = StubTransport.takingAll(holding: 1)
        let recorder = SleepRecorder()
        let configuration = VehicleReporterConfiguration()
        let world = try ReporterWorld(engine: engine, configuration: configuration, recorder: recorder)
        let reporter = world.reporter
        await reporter.startTracking()
        let (fixes, source) = AsyncStream.makeStream(of: LocationFix.self)
        let run = Task { try await reporter.run(reporting: fixes) }
        source.yield(try .at(1))
        _ = try await world.event()
        await reporter.record(try .at(2))
        _ = await recorder.passNextSleep(except: configuration.timeLimit)
        await world.engine.waitForRequests(2)
        source.yield(try .at(3))
        source.finish()
        await world.bide()
        release.yield()
        try await run.value
        #expect(try world.engine.requests.map { try $0.latitudes } == [[0.1], [0.2], [0.3]])
        let events = [try await world.event(), try await world.event()]
        #expect(events.map(\.location?.latitude) == [0.2, 0.3])
        #expect(events.allSatisfy { $0.failure == nil && $0.pastLocationCount == 0 })
    }

    @Test func `a source that fails cuts off no report that is on its way`() async throws {
        struct BrokenSource: LocationSource {
            let fixes: AsyncThrowingStream<LocationFix, any Error>
            func makeAsyncIterator() -> AsyncThrowingStream<LocationFix, any Error>.Iterator {
                self.fixes.makeAsyncIterator()
            }
        }
        let (engine, release) = StubTransport.takingAll(holding: 1)
        let recorder = SleepRecorder()
        let configuration = VehicleReporterConfiguration()
        let world = try ReporterWorld(engine: engine, configuration: configuration, recorder: recorder)
        let reporter = world.reporter
        await reporter.startTracking()
        let (fixes, source) = AsyncThrowingStream.makeStream(of: LocationFix.self)
        let run = Task { try await reporter.run(reporting: BrokenSource(fixes: fixes)) }
        source.yield(try .at(1))
        _ = try await world.event()
        await reporter.record(try .at(2))
        _ = await recorder.passNextSleep(except: configuration.timeLimit)
        await engine.waitForRequests(2)
        source.finish(throwing: URLError(.cannotOpenFile))
        await world.bide()
        release.yield()
        await #expect(throws: URLError.self) { try await run.value }
        let event = try await world.event()
        #expect(event.failure == nil && event.location?.latitude == 0.2 && event.unsentCount == 0)
    }

    @Test func `where tracking ends with the source, its last locations set the vehicle offline`() async throws {
        let world = try ReporterWorld()
        await world.reporter.startTracking()
        try await world.reporter.setState(.online)
        let fixes = AsyncStream<LocationFix> { source in
            for second in 1...3 { if let fix = try? LocationFix.at(second) { source.yield(fix) } }
            source.finish()
        }
        try await world.reporter.run(reporting: fixes, endsTracking: true)
        #expect(try world.engine.requests.map { try $0.latitudes } == [[], [0.1], [0.2, 0.3]])
        let states = try world.engine.requests.map { try $0.json["vehicleState"] as? String }
        #expect(states == ["ONLINE", "ONLINE", "OFFLINE"])
        #expect(await !world.reporter.isTracking)
        await world.reporter.stopTracking()
        #expect(world.engine.requests.count == 3)
    }

    @Test func `where tracking ends with a source of one location, one update says it behind what is on its way`()
        async throws
    {
        let (engine, release) = StubTransport.takingAll(holding: 0)
        let world = try ReporterWorld(engine: engine)
        let reporter = world.reporter
        await reporter.startTracking()
        await reporter.record(try .at(1))
        let first = Task { await reporter.reportNow() }
        await engine.waitForRequests(1)
        let online = Task { try await reporter.setState(.online) }
        while await reporter.state != .online { await Task.yield() }
        let (fixes, source) = AsyncStream.makeStream(of: LocationFix.self)
        let run = Task { try await reporter.run(reporting: fixes, endsTracking: true) }
        source.yield(try .at(2))
        await world.bide()
        source.finish()
        await world.bide()
        release.yield()
        await first.value
        try await run.value
        try await online.value
        #expect(try engine.requests.map { try $0.json["vehicleState"] as? String } == ["OFFLINE", "OFFLINE"])
        #expect(try engine.requests.map { try $0.latitudes } == [[0.1], [0.2]])
    }

    @Test func `a source without locations ends tracking too`() async throws {
        let world = try ReporterWorld()
        await world.reporter.startTracking()
        try await world.reporter.setState(.online)
        try await world.reporter.run(reporting: AsyncStream<LocationFix> { $0.finish() }, endsTracking: true)
        #expect(await !world.reporter.isTracking)
        let states = try world.engine.requests.map { try $0.json["vehicleState"] as? String }
        #expect(states == ["ONLINE", "OFFLINE"])
    }

    @Test func `a run that is cancelled while its first location waits in its turn ends no tracking`() async throws {
        let (engine, release) = StubTransport.takingAll(holding: 0)
        let world = try ReporterWorld(engine: engine)
        let reporter = world.reporter
        await reporter.startTracking()
        let online = Task { try await reporter.setState(.online) }
        await engine.waitForRequests(1)
        let (fixes, source) = AsyncStream.makeStream(of: LocationFix.self)
        defer { source.finish() }
        let run = Task { try await reporter.run(reporting: fixes, endsTracking: true) }
        source.yield(try .at(1))
        await world.bide()
        run.cancel()
        await world.bide()
        release.yield()
        await #expect(throws: CancellationError.self) { try await run.value }
        try await online.value
        #expect(await reporter.isTracking)
        #expect(try engine.requests.allSatisfy { try $0.json["vehicleState"] as? String == "ONLINE" })
    }

    @Test func `a run that is cancelled ends no tracking`() async throws {
        let world = try ReporterWorld()
        let reporter = world.reporter
        await reporter.startTracking()
        let (fixes, source) = AsyncStream.makeStream(of: LocationFix.self)
        defer { source.finish() }
        let run = Task { try await reporter.run(reporting: fixes, endsTracking: true) }
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
        #expect(await reporter.isTracking)
        #expect(world.engine.requests.isEmpty)
    }

    @Test func `there are never two reports on their way`() async throws {
        let (held, release) = AsyncStream.makeStream(of: Void.self)
        let world = try ReporterWorld(
            engine: StubTransport { _, _ in
                for await _ in held { break }
                return .ok
            })
        await world.reporter.startTracking()
        await world.reporter.record(try .at(1))
        let reporter = world.reporter
        let first = Task { await reporter.reportNow() }
        await world.engine.waitForRequests(1)
        for _ in 1...10 { await reporter.reportNow() }
        #expect(world.engine.requests.count == 1)
        release.yield()
        await first.value
        #expect(world.engine.requests.count == 1)
    }

    @Test(arguments: [(10, 8), (5, 4), (60, 8)])
    func `a report is given up before the next one is due`(interval: Int, limit: Int) async throws {
        let world = try ReporterWorld(
            engine: StubTransport([.silence, .ok]), configuration: .init(reportingInterval: .seconds(interval)))
        await world.reporter.startTracking()
        await world.reporter.record(try .at(1))
        let reporter = world.reporter
        let report = Task { await reporter.reportNow() }
        await world.engine.waitForRequests(1)
        #expect(world.engine.requests.first?.timeout == .seconds(limit) - .milliseconds(200))
        await world.clock.waitForSleepers(1)
        world.clock.advance(by: .seconds(limit) - .milliseconds(1))
        world.clock.advance(by: .milliseconds(1))
        await report.value
        let event = try await world.event()
        #expect(event.failure?.code == .deadlineExceeded && event.failure?.stage == .connection)
        #expect(try await world.report(2).failure == nil)
        #expect(try world.engine.requests.last?.latitudes == [0.1, 0.2])
    }

    @Test func `a token that never comes does not hold the report for ever`() async throws {
        let world = try ReporterWorld(
            tokens: StubTokenProvider { _, _ in
                try await Task.sleep(for: .seconds(3_600))
                throw CancellationError()
            })
        await world.reporter.startTracking()
        await world.reporter.record(try .at(1))
        let reporter = world.reporter
        let report = Task { await reporter.reportNow() }
        await world.clock.waitForSleepers(1)
        world.clock.advance(by: .seconds(8))
        await report.value
        let event = try await world.event()
        #expect(event.failure?.code == .deadlineExceeded && event.failure?.stage == .token)
        #expect(event.tokenWait == .seconds(8))
    }

    @Test func `no second attempt begins when the time is over`() async throws {
        let recorder = SleepRecorder()
        let clock = recorder.clock
        let world = try ReporterWorld(
            tokens: StubTokenProvider { subject, invalidations in
                if invalidations > 0 { clock.advance(by: .seconds(8)) }
                return TestTokens.token(for: subject, serial: invalidations)
            }, engine: StubTransport([.status(401), .ok]), recorder: recorder)
        #expect(try await world.report(1).failure != nil)
        #expect(world.engine.requests.count == 1)
    }

    @Test func `a cancelled report keeps its fixes and is no failure`() async throws {
        let world = try ReporterWorld(engine: StubTransport([.silence, .ok]))
        await world.reporter.startTracking()
        await world.reporter.record(try .at(1))
        let reporter = world.reporter
        let report = Task { await reporter.reportNow() }
        await world.engine.waitForRequests(1)
        report.cancel()
        await report.value
        let event = try await world.report(2)
        #expect(event.failure == nil && event.pastLocationCount == 1)
    }
}

/// How many are inside at the same time.
private final class Counter: Sendable {
    private let state = Locked((now: 0, most: 0))
    var most: Int { self.state.withLock(\.most) }
    func enter() { self.state.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }
    func leave() { self.state.withLock { $0.now -= 1 } }
}

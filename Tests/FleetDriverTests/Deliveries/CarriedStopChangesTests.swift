// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Testing

@testable import FleetDriver

/// What becomes of a call's change of the stops that goes out with the request of a later call.
@Suite(.timeLimit(.minutes(10))) struct CarriedStopChangesTests {
    /// A reporter that knows its stops and whose tokens for tasks do not come before they are released.
    private func heldWorld(
        stops: [String]
    ) async throws -> (world: DeliveryReporterWorld, release: AsyncStream<Never>.Continuation) {
        let (gate, release) = AsyncStream.makeStream(of: Never.self)
        let world = try DeliveryReporterWorld(
            stops: stops,
            tokens: StubTokenProvider { subject, _ in
                if case .deliveryDriver(_, _?) = subject { for await _ in gate {} }
                return TestTokens.token(for: subject)
            })
        _ = try await world.reporter.readRemainingStops()
        return (world, release)
    }

    /// Waits until a token for a task was asked for.
    private func waitForToken(_ world: DeliveryReporterWorld, task: String) async throws {
        let subject = TokenSubject.deliveryDriver(world.vehicle, task: try TaskID(checking: task))
        while !world.tokens.subjects.contains(subject) { await Task.yield() }
    }

    // MARK: - Cancelled calls

    @Test func `a completion that is cancelled before a request left closes nothing`() async throws {
        let (world, release) = try await self.heldWorld(stops: ["1 a ARRIVED", "2 b NEW"])
        let reporter = world.reporter
        let completion = try await reporter.make { try $0.completingStop() }
        let next = Task { try await reporter.reportEnrouteToNextStop() }
        try await self.waitForToken(world, task: "b")
        await reporter.cancel(completion)
        release.finish()
        #expect(try await next.value.short == ["1 a ARRIVED", "2 b ENROUTE"])
        #expect(world.engine.stops == ["1 a ARRIVED", "2 b ENROUTE"])
    }

    @Test(arguments: [
        // What is left is made to the list that the engine has by then, which had no need to be read before.
        (["1 a NEW", "2 b NEW", "9 z NEW"], ["1 a NEW", "2 b ENROUTE", "9 z NEW"]),
        (["1 a NEW"], ["1 a NEW"]),
    ])
    func `a list of stops that is cancelled before a request left undoes nothing`(
        stops: [String], wanted: [String]
    ) async throws {
        let (world, release) = try await self.heldWorld(stops: ["1 a NEW"])
        let reporter = world.reporter
        let other = try VehicleStop(latitude: 2, longitude: 7, tasks: [TaskID(checking: "b")])
        let list = try await reporter.make { _ in .replaceAll([other]) }
        let next = Task { try await reporter.reportEnrouteToNextStop() }
        try await self.waitForToken(world, task: "b")
        world.engine.stops = stops
        await reporter.cancel(list)
        release.finish()
        if wanted == stops {
            let error = await #expect(throws: DriverError.self) { try await next.value }
            #expect(error?.code == .stopGone)
        } else {
            #expect(try await next.value.short == wanted)
        }
        #expect(world.engine.stops == wanted)
        #expect(await reporter.plan.stopChanges.count == 0)
    }

    @Test func `when nothing is left of what was to be sent, nothing is`() async throws {
        let (world, release) = try await self.heldWorld(stops: ["1 a ARRIVED", "2 b NEW"])
        let reporter = world.reporter
        let completion = try await reporter.make { try $0.completingStop() }
        let sending = Task { await reporter.send(.stops(upTo: completion)) == nil }
        try await self.waitForToken(world, task: "a")
        await reporter.cancel(completion)
        release.finish()
        #expect(await sending.value)
        #expect(world.requests.map(\.method) == ["GET", "GET"])
    }

    // MARK: - Refusals

    @Test func `a refusal of changes that went out together takes off none that the engine takes alone`() async throws {
        let world = try DeliveryReporterWorld(stops: ["1 a ARRIVED", "2 b NEW"])
        let reporter = world.reporter
        _ = try await reporter.readRemainingStops()
        let completion = try await reporter.make { try $0.completingStop() }
        world.engine.answer(nil, .status(400))
        #expect(try await reporter.reportEnrouteToNextStop().short == ["2 b ENROUTE"])
        #expect(await reporter.end(completion) == nil)
        #expect(
            try world.requests.filter { $0.method == "PATCH" }.map { try $0.stops }
                == [["2 b ENROUTE"], ["2 b NEW"], ["2 b ENROUTE"]])
        #expect(await reporter.plan.pendingCount == 0)
    }

    @Test func `each change is told its own refusal`() async throws {
        let world = try DeliveryReporterWorld(stops: ["1 a ARRIVED", "2 b NEW"])
        let reporter = world.reporter
        _ = try await reporter.readRemainingStops()
        let completion = try await reporter.make { try $0.completingStop() }
        // Each time, the list is read before.
        world.engine.answer(nil, .status(400), nil, .status(404), nil, .status(501))
        let failure = await #expect(throws: EngineFailure.self) { try await reporter.reportEnrouteToNextStop() }
        #expect(failure?.httpStatus == 501)
        #expect((await reporter.end(completion) as? EngineFailure)?.httpStatus == 404)
        #expect(world.requests.count == 7)
        #expect(await reporter.plan.pendingCount == 0)
    }

    @Test func `a change that nobody waits for and that is refused blocks none behind it, also without tracking`()
        async throws
    {
        let world = try DeliveryReporterWorld(stops: ["1 a NEW", "2 b NEW"])
        let reporter = world.reporter
        world.engine.answer(nil, nil, .offline)
        await #expect(throws: EngineFailure.self) { try await reporter.reportEnrouteToNextStop() }
        world.engine.answer(nil, .status(400), nil, .status(400))
        #expect(try await reporter.reportArrivedAtStop().short == ["1 a ARRIVED", "2 b NEW"])
        #expect(await reporter.plan.pendingCount == 0)
    }

    @Test func `when the connection fails after a refusal, what was not tried alone is kept`() async throws {
        let world = try DeliveryReporterWorld(stops: ["1 a ARRIVED", "2 b NEW"])
        let reporter = world.reporter
        _ = try await reporter.readRemainingStops()
        let completion = try await reporter.make { try $0.completingStop() }
        world.engine.answer(nil, .status(400), .offline)
        let failure = await #expect(throws: EngineFailure.self) { try await reporter.reportEnrouteToNextStop() }
        #expect(failure?.stage == .connection)
        #expect(await reporter.end(completion) == nil)
        #expect(await reporter.plan.pendingCount == 2)
        _ = try await world.report(1)
        await reporter.stopTracking()
        #expect(world.engine.stops == ["2 b ENROUTE"])
    }
}

extension DeliveryVehicleReporter {
    /// Makes a change, as a call does whose turn to send it has not come.
    fileprivate func make(
        _ change: @Sendable (DeliveryReportPlan) throws -> StopChange
    ) throws -> Int {
        self.plan.stopChanges.add(try change(self.plan))
    }

    /// Ends the call that made a change, as its cancellation does.
    fileprivate func cancel(_ number: Int) {
        _ = self.plan.endStopWait(number, CancellationError())
    }

    /// Ends the call that made a change, and tells what it was refused with.
    fileprivate func end(_ number: Int) -> (any Error)? {
        self.plan.endStopWait(number, nil)
    }
}

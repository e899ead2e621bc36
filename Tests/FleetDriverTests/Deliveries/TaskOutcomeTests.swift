// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

@testable import FleetDriver

@Suite(.timeLimit(.minutes(10))) struct TaskOutcomeTests {
    private static let time = Date(timeIntervalSince1970: 1_738_774_952)

    @Test func `an outcome is told with a token for the task`() async throws {
        let world = try DeliveryReporterWorld()
        try await world.reporter.reportOutcome(.succeeded, of: TaskID(checking: "a"), at: Self.time, place: .at(10))
        let request = try #require(world.requests.first)
        #expect(request.method == "PATCH")
        #expect(request.url.path == "/v1/providers/acme/tasks/a")
        #expect(request.mask == "task_outcome,task_outcome_time,task_outcome_location")
        #expect(request.authorization == (try world.token(task: "a").authorizationHeader))
        #expect(
            String(decoding: try #require(request.body), as: UTF8.self)
                == #"{"taskOutcome":"SUCCEEDED","taskOutcomeLocation":{"point":{"latitude":1.0,"longitude":-122.0}},"#
                + #""taskOutcomeTime":"2025-02-05T17:02:32.000Z"}"#)
        guard case .taskOutcome(.succeeded, let task) = try await world.event().content else {
            Issue.record("The event is about something else.")
            return
        }
        #expect(task.value == "a")
    }

    @Test func `a token for the vehicle alone will not do for a task`() async throws {
        let world = try DeliveryReporterWorld(
            tokens: StubTokenProvider { subject, _ in
                guard case .deliveryDriver(let vehicle, _) = subject else { throw CancellationError() }
                return TestTokens.token(for: .deliveryDriver(vehicle))
            })
        await #expect(throws: EngineFailure.self) {
            try await world.reporter.reportOutcome(.failed, of: TaskID(checking: "a"))
        }
        #expect(world.requests.isEmpty)
    }

    @Test func `the place is where the vehicle was, also when the report gets through much later`() async throws {
        let world = try DeliveryReporterWorld()
        world.engine.answer(nil, .offline)
        _ = try await world.report(1)
        await #expect(throws: EngineFailure.self) {
            try await world.reporter.reportOutcome(.failed, of: TaskID(checking: "a"), at: Self.time)
        }
        #expect(try await world.event().pendingCount == 1)
        _ = try await world.report(9)
        #expect(try await world.event().pendingCount == 0)
        let late = try #require(world.requests.last)
        #expect(late.body == world.requests[1].body)
        let place = try #require((late.json["taskOutcomeLocation"] as? [String: Any])?["point"] as? [String: Double])
        #expect(place["latitude"] == 0.1)
    }

    @Test func `one task's missing token does not hold up another's outcome`() async throws {
        let world = try DeliveryReporterWorld(
            tokens: StubTokenProvider { subject, _ in
                if case .deliveryDriver(_, let task?) = subject, task.value == "a" {
                    throw TokenClientError(code: .refused, message: "Not yours.")
                }
                return TestTokens.token(for: subject)
            })
        world.engine.answer(.offline)
        for task in ["a", "b"] {
            await #expect(throws: EngineFailure.self) {
                try await world.reporter.reportOutcome(.succeeded, of: TaskID(checking: task))
            }
            _ = try await world.event()
        }
        _ = try await world.report(1)
        let later = [try await world.event(), try await world.event()]
        #expect(later.map { $0.failure == nil } == [false, true])
        #expect(later.last?.pendingCount == 1)
    }

    @Test func `an outcome whose call is cancelled while it is being sent is kept and repeated`() async throws {
        let world = try DeliveryReporterWorld()
        let reporter = world.reporter
        world.engine.answer(.silence)
        let outcome = Task { try await reporter.reportOutcome(.failed, of: TaskID(checking: "a")) }
        await world.engine.transport.waitForRequests(1)
        outcome.cancel()
        await #expect(throws: CancellationError.self) { try await outcome.value }
        #expect(try await world.report(1).pendingCount == 1)
        await reporter.stopTracking()
        #expect(await reporter.plan.pendingCount == 0)
        #expect(world.engine.state.withLock(\.outcomes) == ["a": "FAILED"])
    }

    @Test func `without tracking an outcome that failed is kept, and not repeated`() async throws {
        let world = try DeliveryReporterWorld()
        world.engine.answer(.offline)
        await #expect(throws: EngineFailure.self) {
            try await world.reporter.reportOutcome(.succeeded, of: TaskID(checking: "a"))
        }
        #expect(try await world.event().pendingCount == 1)
        await world.reporter.reportNow()
        try #require(await world.reporter.repeating == nil)
        try #require(world.requests.count == 1)
        _ = try await world.report(1)
        #expect(try await world.event().pendingCount == 0)
    }

    @Test func `an outcome that the engine refuses is dropped`() async throws {
        let world = try DeliveryReporterWorld()
        world.engine.answer(.status(400, #"{"status":"FAILED_PRECONDITION","message":"It has one."}"#))
        let error = await #expect(throws: EngineFailure.self) {
            try await world.reporter.reportOutcome(.failed, of: TaskID(checking: "a"))
        }
        #expect(error?.code == .failedPrecondition)
        #expect(try await world.event().pendingCount == 0)
    }

    @Test func `a task that is refused for good leaves the next one's token its renewal`() async throws {
        let world = try DeliveryReporterWorld()
        world.engine.answer(.status(403), .status(403), .status(403))
        let error = await #expect(throws: EngineFailure.self) {
            try await world.reporter.reportOutcome(.succeeded, of: TaskID(checking: "a"))
        }
        #expect(error?.code == .permissionDenied)
        try await world.reporter.reportOutcome(.succeeded, of: TaskID(checking: "b"))
        #expect(world.requests.map(\.url.lastPathComponent) == ["a", "a", "b", "b"])
        #expect(world.tokens.invalidated.count == 2)
    }

    @Test(arguments: [404, 501])
    func `an outcome that a proxy refuses while the engine is away is kept, and the others with it`(
        status: Int
    ) async throws {
        let world = try DeliveryReporterWorld()
        world.engine.answer(.proxy(status), .proxy(status))
        for task in ["a", "b"] {
            await #expect(throws: EngineFailure.self) {
                try await world.reporter.reportOutcome(.succeeded, of: TaskID(checking: task))
            }
            _ = try await world.event()
        }
        world.engine.answer(nil, .proxy(status))
        _ = try await world.report(1)
        #expect(try await world.event().pendingCount == 2)
        while await world.reporter.repeating != nil { await Task.yield() }
        _ = try await world.report(2)
        #expect(try await [world.event().pendingCount, world.event().pendingCount] == [1, 0])
        #expect(world.requests.map(\.url.lastPathComponent) == ["a", "b", "van-1", "a", "van-1", "a", "b"])
    }

    @Test(arguments: [400, 405, 413]) func `an outcome that a proxy refuses for itself holds up no other`(
        status: Int
    ) async throws {
        let world = try DeliveryReporterWorld()
        world.engine.answer(.proxy(status), .offline)
        for task in ["a", "b"] {
            await #expect(throws: EngineFailure.self) {
                try await world.reporter.reportOutcome(.succeeded, of: TaskID(checking: task))
            }
            _ = try await world.event()
        }
        world.engine.answer(nil, .proxy(status))
        _ = try await world.report(1)
        #expect(try await [world.event().pendingCount, world.event().pendingCount] == [2, 1])
        #expect(world.requests.map(\.url.lastPathComponent) == ["a", "b", "van-1", "a", "b"])
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetConsumer
import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

@testable import struct FleetConsumer.TripModelConfiguration

@Suite(.timeLimit(.minutes(10))) struct TripModelTests {
    // MARK: - Questions

    @Test func `a question names the trip and carries its token`() async throws {
        let world = try TripWorld(provider: "a b", trip: "50% Zoë", engine: StubTransport([.complete]))
        try await world.model.run()
        let request = try #require(world.engine.requests.first)
        #expect(request.method == "GET")
        #expect(request.url.absoluteString == "https://engine.example/v1/providers/a%20b/trips/50%25%20Zo%C3%AB")
        #expect(
            request.headers.first { $0.name == "Authorization" }?.value
                == TestTokens.token(for: .consumer(world.trip)).authorizationHeader)
        #expect(request.body == nil && !request.headers.contains { $0.name == "Content-Type" })
        #expect(request.headers.contains { $0.name == "Accept" && $0.value == "application/json" })
        #expect(world.tokens.subjects == [.consumer(world.trip)])
    }

    @Test(arguments: ["http://engine.example", "https://user@engine.example", "engine"])
    func `an engine that would get tokens in the clear is refused`(url: String) {
        #expect(throws: TokenClientError.self) { try TripWorld(url: url, engine: StubTransport([])) }
    }

    private static let wrongClaims: [AuthorizationClaims?] = [
        nil, try? .init(trip: .any), try? .init(trip: TripID("trip-8").map { .only($0) }),
        try? .init(vehicle: .any, trip: TripID("trip-7").map { .only($0) }),
        try? .init(vehicle: VehicleID("trip-7").map { .only($0) }),
    ]

    @Test(arguments: wrongClaims)
    func `a token for anything else never leaves`(claims: AuthorizationClaims?) async throws {
        let wrong = TestTokens.token(claiming: claims)
        let tokens = StubTokenProvider { subject, invalidations in
            invalidations == 0 ? wrong : TestTokens.token(for: subject)
        }
        let world = try TripWorld(tokens: tokens, engine: StubTransport([.complete]))
        let changes = try await world.changesToTheEnd()
        #expect(changes.first?.summary == "failure UNAUTHENTICATED -")
        #expect(world.tokens.invalidated == [wrong])
        #expect(world.engine.requests.count == 1)
        #expect(!world.engine.requests.contains { $0.headers.contains { $0.value == wrong.authorizationHeader } })
    }

    @Test func `the versions of the last answer go with the next question, as they were written`() async throws {
        let world = try TripWorld(
            engine: StubTransport(
                trips: #"{"vehicleId":"v","currentRouteSegmentVersion":"2025-02-05T17:02:33.123456789Z"}"#,
                #"{"vehicleId":"v","remainingWaypointsRouteVersion":"2025-02-05T17:02:34.000000001Z"}"#,
                #"{"vehicleId":"v","currentRouteSegmentTrafficVersion":"t","remainingWaypointsVersion":"w"}"#))
        _ = try await world.changesToTheEnd()
        #expect(
            world.engine.requests.map(\.query) == [
                [:], ["currentRouteSegmentVersion": "2025-02-05T17:02:33.123456789Z"],
                [
                    "currentRouteSegmentVersion": "2025-02-05T17:02:33.123456789Z",
                    "remainingWaypointsRouteVersion": "2025-02-05T17:02:34.000000001Z",
                ],
                [
                    "currentRouteSegmentVersion": "2025-02-05T17:02:33.123456789Z",
                    "currentRouteSegmentTrafficVersion": "t",
                    "remainingWaypointsRouteVersion": "2025-02-05T17:02:34.000000001Z",
                ],
            ])
    }

    // MARK: - Refused tokens

    @Test func `after a 401 the token is renewed and the question sent once more`() async throws {
        let world = try TripWorld(engine: StubTransport([.status(401), .complete]))
        try await world.model.run()
        #expect(world.engine.requests.count == 2)
        #expect(world.tokens.invalidated == [TestTokens.token(for: .consumer(world.trip))])
        #expect(world.clock.now.sinceStart == .zero)
    }

    @Test func `a 403 renews the token only right after it changed`() async throws {
        let world = try TripWorld(
            engine: StubTransport([.status(403), .new, .status(403), .complete]))
        let changes = try await world.changesToTheEnd().map(\.summary)
        #expect(changes.contains("failure PERMISSION_DENIED -"))
        #expect(world.tokens.invalidated.count == 1)
        #expect(world.engine.requests.count == 4)
    }

    @Test func `a lasting 403 renews once, though the same token comes again within a second`() async throws {
        let recorder = SleepRecorder()
        let clock = recorder.clock
        let tokens = StubTokenProvider { subject, _ in
            TestTokens.token(for: subject, serial: Int(clock.now.sinceStart.components.seconds))
        }
        let refusals = Array(repeating: StubTransport.Answer.status(403), count: 6)
        let world = try TripWorld(
            tokens: tokens, engine: StubTransport(refusals + [.complete]), recorder: recorder)
        let changes = try await world.changesToTheEnd().map(\.summary)
        #expect(changes.filter { $0 == "failure PERMISSION_DENIED -" }.count >= 5)
        #expect(tokens.invalidated.count == 1)
    }

    // MARK: - Pace

    @Test(arguments: [(0, 1), (1, 1), (5, 5), (60, 60), (90, 60)])
    func `the interval is clamped`(wanted: Int, got: Int) {
        var configuration = TripModelConfiguration(pollingInterval: .seconds(wanted))
        #expect(configuration.pollingInterval == .seconds(got))
        configuration.pollingInterval = .seconds(30)
        configuration.pollingInterval = .seconds(wanted)
        #expect(configuration.pollingInterval == .seconds(got))
        #expect(TripModelConfiguration().pollingInterval == .seconds(5))
    }

    /// The pauses that a model makes after these answers.
    private static func pauses(
        after answers: StubTransport.Answer...,
        random: Double = 1,
        longestPause: Duration = .seconds(60)
    ) async throws -> [Duration] {
        let recorder = SleepRecorder()
        let world = try TripWorld(
            engine: StubTransport(answers + [.complete]),
            configuration: .init(timeLimit: TripWorld.noLimit, longestPause: longestPause),
            recorder: recorder,
            random: { random }
        )
        let model = world.model
        let run = Task { try await model.run() }
        var pauses: [Duration] = []
        for _ in answers { pauses += await recorder.passNextSleep(except: TripWorld.noLimit).map { [$0] } ?? [] }
        try await run.value
        #expect(world.engine.requests.count == answers.count + 1)
        return pauses
    }

    @Test func `questions come at the interval`() async throws {
        #expect(try await Self.pauses(after: .new, .new) == [.seconds(5), .seconds(5)])
    }

    @Test func `pauses double while the engine is unavailable or late, and end with the first answer`() async throws {
        let pauses = try await Self.pauses(
            after: .status(503), .status(504), .status(429), .status(503), .new, longestPause: .seconds(30))
        #expect(pauses == [10, 20, 30, 30, 5].map { .seconds($0) })
    }

    @Test func `pauses grow up to the longest, however long that is`() async throws {
        let down = StubTransport.Answer.status(503)
        let pauses = try await Self.pauses(
            after: down, down, down, down, down, down, down, down, longestPause: .seconds(1000))
        #expect(pauses == [10, 20, 40, 80, 160, 320, 640, 1000].map { .seconds($0) })
    }

    @Test(arguments: [(0.0, 5.0, 10.0), (0.5, 7.5, 15), (1.0, 10, 20)])
    func `pauses are spread by chance, and never shorter than the interval`(
        random: Double, first: Double, second: Double
    ) async throws {
        let pauses = try await Self.pauses(after: .status(503), .status(503), random: random)
        #expect(pauses == [.seconds(first), .seconds(second)])
    }

    @Test func `other failures keep the interval`() async throws {
        #expect(try await Self.pauses(after: .status(404), .status(500)) == [.seconds(5), .seconds(5)])
        // An engine that answers is not overloaded any more.
        let pauses = try await Self.pauses(after: .status(503), .status(404), .status(503))
        #expect(pauses == [10, 5, 10].map { .seconds($0) })
    }

    @Test
    func `however often the engine fails, a pause is no longer than the longest and no shorter than the interval`() {
        let configuration = TripModelConfiguration()
        for failures in 4...200 { #expect(configuration.pause(afterFailures: failures, random: 1) == .seconds(60)) }
        let impatient = TripModelConfiguration(longestPause: .seconds(1))
        for failures in 0...200 { #expect(impatient.pause(afterFailures: failures, random: 1) == .seconds(5)) }
    }

    @Test func `the longest time limit there is means none`() async throws {
        let trip = try TripID(checking: "trip-7")
        let model = try TripModel(
            provider: ProviderID(checking: "acme"), trip: trip, engine: #require(URL(string: "https://engine.example")),
            tokens: StubTokenProvider(), transport: StubTransport([.complete]),
            configuration: .init(timeLimit: .seconds(Int64.max)))
        try await model.run()
        #expect(await model.snapshot?.status == .complete)
    }

    @Test(
        arguments: [(.unreachable, nil, 5), (.timedOut, nil, 5), (.rateLimited, nil, 5), (.rateLimited, 90, 90)]
            as [(TokenClientError.Code, Int?, Int)])
    func `a token server that is away keeps the interval, unless it asks for a longer pause`(
        code: TokenClientError.Code, retryAfter: Int?, pause: Int
    ) async throws {
        let recorder = SleepRecorder()
        let asked = Locked(0)
        let tokens = StubTokenProvider { subject, _ in
            let count = asked.withLock { count in
                count += 1
                return count
            }
            guard count > 2 else {
                throw TokenClientError(code: code, message: "Away.", retryAfter: retryAfter.map { .seconds($0) })
            }
            return TestTokens.token(for: subject)
        }
        let world = try TripWorld(
            tokens: tokens, engine: StubTransport([.complete]), recorder: recorder, random: { 1 })
        let model = world.model
        let run = Task { try await model.run() }
        for _ in 1...2 { #expect(await recorder.passNextSleep(except: TripWorld.noLimit) == .seconds(pause)) }
        try await run.value
        #expect(tokens.subjects.count == 3 && world.engine.requests.count == 1)
    }

    @Test func `the engine may ask for a longer pause`() async throws {
        let busy = HTTPTransportResponse(status: 429, headers: [("retry-after", "90")])
        #expect(try await Self.pauses(after: .response(busy)) == [.seconds(90)])
        let soon = HTTPTransportResponse(status: 429, headers: [("retry-after", "2")])
        #expect(try await Self.pauses(after: .response(soon)) == [.seconds(10)])
    }

    @Test func `a question that is never answered is given up, and nothing is asked meanwhile`() async throws {
        let world = try TripWorld(engine: StubTransport([.silence, .complete]), configuration: .init())
        let model = world.model
        let changes = await model.changes()
        let run = Task { try await model.run() }
        await world.engine.waitForRequests(1)
        await world.clock.waitForSleepers(1)
        world.clock.advance(by: .seconds(7))
        #expect(world.engine.requests.count == 1)
        world.clock.advance(by: .seconds(1))
        let change = await changes.first { _ in true }
        #expect(change?.summary == "failure DEADLINE_EXCEEDED -")
        await world.clock.waitForSleepers(1)
        world.clock.advance(by: .seconds(10))
        try await run.value
        #expect(world.engine.requests.count == 2)
    }

    @Test func `a cancelled model does not wait for a transport that ignores its cancellation`() async throws {
        let (held, release) = AsyncStream.makeStream(of: Void.self)
        let world = try TripWorld(
            engine: StubTransport { _, _ in
                // A task of its own, which no cancellation reaches.
                await Task { for await _ in held {} }.value
                return .complete
            })
        defer { release.finish() }
        let model = world.model
        let run = Task { try await model.run() }
        await world.engine.waitForRequests(1)
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
    }

    @Test func `a cancelled model stops`() async throws {
        let world = try TripWorld(engine: StubTransport([.silence]))
        let model = world.model
        let changes = await model.changes()
        let run = Task { try await model.run() }
        await world.engine.waitForRequests(1)
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
        #expect(await changes.first { _ in true } == nil)
    }

    // MARK: - Readers

    private static func summaries(_ changes: AsyncStream<TripChange>) async -> [String] {
        var heard: [String] = []
        for await change in changes { heard.append(change.summary) }
        return heard
    }

    @Test func `readers come and go, and a run after a cancelled one goes on from what is known`() async throws {
        let world = try TripWorld(engine: StubTransport([.json(#"{"tripStatus":"NEW"}"#), .complete]))
        let model = world.model
        let gone = await model.changes()
        let reader = Task { for await _ in gone {} }
        reader.cancel()
        await reader.value
        let first = await model.changes()
        let run = Task { try await model.run() }
        #expect(await first.first { _ in true }?.summary == "status NEW")
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
        #expect(await first.first { _ in true } == nil)

        let second = await model.changes()
        try await model.run()
        #expect(await Self.summaries(second) == ["status NEW", "status COMPLETE", "ended COMPLETE"])
        #expect(await Self.summaries(model.changes()) == ["status COMPLETE", "ended COMPLETE"])
        #expect(world.engine.requests.count == 2)
    }

    @Test func `a cancelled run that ends after the next one began takes nobody's stream away`() async throws {
        let (held, release) = AsyncStream.makeStream(of: Void.self)
        let world = try TripWorld(
            engine: StubTransport { _, index in
                guard index == 1 else { return .json(#"{"tripStatus":"NEW"}"#) }
                for await _ in held { break }
                return .complete
            })
        let model = world.model
        let changes = await model.changes()
        let old = Task { try await model.run() }
        #expect(await changes.first { _ in true }?.summary == "status NEW")
        let new = Task { try await model.run() }
        await world.engine.waitForRequests(2)
        old.cancel()
        await #expect(throws: CancellationError.self) { try await old.value }
        release.yield()
        try await new.value
        #expect(await Self.summaries(changes) == ["status COMPLETE", "ended COMPLETE"])
    }

    @Test func `the streams end with the trip, though another run still waits for an answer`() async throws {
        let (held, release) = AsyncStream.makeStream(of: Void.self)
        let world = try TripWorld(
            engine: StubTransport { _, index in
                if index == 0 { for await _ in held { break } }
                return .complete
            })
        let model = world.model
        let changes = await model.changes()
        let slow = Task { try await model.run() }
        await world.engine.waitForRequests(1)
        try await model.run()
        #expect(await Self.summaries(changes) == ["status COMPLETE", "ended COMPLETE"])
        release.yield()
        try await slow.value
    }

    @Test func `a slow reader hears at least what one answer changes`() async throws {
        let answer = """
            {"vehicleId":"veh-3","tripStatus":"COMPLETE","lastLocation":{"location":{}},
            "etaToFirstWaypoint":"2025-02-05T17:03:25Z","pickupTime":"2025-02-05T17:03:25Z",
            "dropoffTime":"2025-02-05T17:03:25Z","intermediateDestinationIndex":1,"remainingDistanceMeters":1,
            "remainingWaypoints":[{"location":{"point":{}}}],"currentRouteSegment":"abc",
            "currentRouteSegmentTraffic":{}}
            """
        let world = try TripWorld(engine: StubTransport([.json(answer)]), configuration: .init(changeCapacity: 1))
        let model = world.model
        let changes = await model.changes()
        try await model.run()
        #expect(await Self.summaries(changes).count == 12)
    }
}

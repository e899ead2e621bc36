// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetConsumer
import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct ShipmentModelTests {
    /// A model with everything round it in a test's hands.
    private struct World {
        let recorder = SleepRecorder()
        let tracking: TrackingID
        let tokens: StubTokenProvider
        let engine: StubTransport
        let model: ShipmentModel

        init(
            provider: String = "acme", tracking: String = "shp-881", tokens: StubTokenProvider = StubTokenProvider(),
            configuration: ShipmentModelConfiguration = .init(timeLimit: TripWorld.noLimit),
            _ answers: StubTransport.Answer...
        ) throws {
            try self.init(
                provider: provider, tracking: tracking, tokens: tokens, configuration: configuration,
                engine: StubTransport(answers))
        }

        init(
            provider: String = "acme", tracking: String = "shp-881", tokens: StubTokenProvider = StubTokenProvider(),
            configuration: ShipmentModelConfiguration = .init(timeLimit: TripWorld.noLimit), engine: StubTransport
        ) throws {
            self.tracking = try TrackingID(checking: tracking)
            self.tokens = tokens
            self.engine = engine
            self.model = try ShipmentModel(
                provider: ProviderID(checking: provider), tracking: self.tracking,
                engine: #require(URL(string: "https://engine.example")), tokens: tokens, transport: self.engine,
                clock: self.recorder, configuration: configuration, random: { 1 })
        }

        /// Runs the model to its end, and gives a short text for each change.
        func changesToTheEnd() async throws -> [String] {
            let model = self.model
            return try await self.recorder.elements(of: await model.changes()) { try await model.run() }
                .map(\.summary)
        }
    }

    private static let onItsWay = """
        {"name":"providers/acme/taskTrackingInfo/shp-881","trackingId":"shp-881","state":"OPEN",
        "plannedLocation":{"point":{"latitude":37.5,"longitude":-122}},
        "targetTimeWindow":{"startTime":"2025-02-05T17:00:00Z","endTime":"2025-02-05T18:00:00Z"},
        "vehicleLocation":{"location":{"latitude":37.1,"longitude":-122.1},"heading":90,"speed":4.5,
        "updateTime":"2025-02-05T17:02:32.5Z","serverTime":"2025-02-05T17:02:33Z"},
        "remainingStopCount":3,"remainingDrivingDistanceMeters":1234,"estimatedArrivalTime":"2025-02-05T17:03:25Z",
        "estimatedTaskCompletionTime":"2025-02-05T17:05:25Z","routePolylinePoints":[{"latitude":1,"longitude":2},{}]}
        """
    private static let hidden = #"{"state":"OPEN","plannedLocation":{"point":{"latitude":37.5,"longitude":-122}}}"#
    private static let delivered = """
        {"state":"CLOSED","taskOutcome":"SUCCEEDED","taskOutcomeTime":"2025-02-05T17:06:00Z"}
        """

    // MARK: - Questions

    @Test func `a question names the tracking id and carries its token`() async throws {
        let world = try World(provider: "a b", tracking: "50% Zoë", .json(Self.delivered))
        #expect(try await world.changesToTheEnd() == ["state CLOSED", "ended SUCCEEDED"])
        let request = try #require(world.engine.requests.first)
        #expect(request.method == "GET" && request.body == nil)
        #expect(
            request.url.absoluteString
                == "https://engine.example/v1/providers/a%20b/taskTrackingInfo/50%25%20Zo%C3%AB")
        #expect(
            request.headers.first { $0.name == "Authorization" }?.value
                == TestTokens.token(for: .deliveryConsumer(world.tracking)).authorizationHeader)
        #expect(await world.model.snapshot?.outcomeTime == Date(timeIntervalSince1970: 1_738_775_160))
    }

    private static let wrongClaims: [AuthorizationClaims?] = [
        nil, try? .init(tracking: .any), try? .init(tracking: TrackingID("shp-882").map { .only($0) }),
        try? .init(trip: TripID("shp-881").map { .only($0) }), try? .init(task: TaskID("shp-881").map { .only($0) }),
    ]

    @Test(arguments: wrongClaims)
    func `a token for anything else never leaves`(claims: AuthorizationClaims?) async throws {
        let wrong = TestTokens.token(claiming: claims)
        let tokens = StubTokenProvider { subject, invalidations in
            invalidations == 0 ? wrong : TestTokens.token(for: subject)
        }
        let world = try World(tokens: tokens, .json(Self.delivered))
        #expect(try await world.changesToTheEnd().first == "failure UNAUTHENTICATED")
        #expect(tokens.invalidated == [wrong] && world.engine.requests.count == 1)
    }

    @Test func `after a 401 the token is renewed and the question sent once more`() async throws {
        let world = try World(.status(401), .json(Self.delivered))
        try await world.model.run()
        #expect(world.engine.requests.count == 2 && world.tokens.invalidated.count == 1)
    }

    @Test func `a 403 renews the token only right after it changed`() async throws {
        let world = try World(.status(403), .json(Self.hidden), .status(403), .json(Self.delivered))
        #expect(try await world.changesToTheEnd().contains("failure PERMISSION_DENIED"))
        #expect(world.tokens.invalidated.count == 1 && world.engine.requests.count == 4)
    }

    // MARK: - Readers

    private static func summaries(_ changes: AsyncStream<ShipmentChange>) async -> [String] {
        var heard: [String] = []
        for await change in changes { heard.append(change.summary) }
        return heard
    }

    @Test func `readers come and go, and a run after a cancelled one goes on from what is known`() async throws {
        let world = try World(.json(Self.hidden), .json(Self.delivered))
        let model = world.model
        let first = await model.changes()
        let run = Task { try await model.run() }
        #expect(await first.first { _ in true }?.summary == "state OPEN")
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
        #expect(await first.first { _ in true } == nil)

        let second = await model.changes()
        try await model.run()
        #expect(await Self.summaries(second) == ["state OPEN", "state CLOSED", "ended SUCCEEDED"])
        #expect(await Self.summaries(model.changes()) == ["state CLOSED", "ended SUCCEEDED"])
        #expect(world.engine.requests.count == 2)
    }

    @Test func `a cancelled run that ends after the next one began takes nobody's stream away`() async throws {
        let (held, release) = AsyncStream.makeStream(of: Void.self)
        let world = try World(
            engine: StubTransport { _, index in
                guard index == 1 else { return .json(Self.hidden) }
                for await _ in held { break }
                return .json(Self.delivered)
            })
        let model = world.model
        let changes = await model.changes()
        let old = Task { try await model.run() }
        #expect(await changes.first { _ in true }?.summary == "state OPEN")
        let new = Task { try await model.run() }
        await world.engine.waitForRequests(2)
        old.cancel()
        await #expect(throws: CancellationError.self) { try await old.value }
        release.yield()
        try await new.value
        #expect(await Self.summaries(changes) == ["state CLOSED", "ended SUCCEEDED"])
    }

    @Test func `the streams end with the shipment, though another run still waits for an answer`() async throws {
        let (held, release) = AsyncStream.makeStream(of: Void.self)
        let world = try World(
            engine: StubTransport { _, index in
                if index == 0 { for await _ in held { break } }
                return .json(Self.delivered)
            })
        let model = world.model
        let changes = await model.changes()
        let slow = Task { try await model.run() }
        await world.engine.waitForRequests(1)
        try await model.run()
        #expect(await Self.summaries(changes) == ["state CLOSED", "ended SUCCEEDED"])
        release.yield()
        try await slow.value
    }

    @Test func `a slow reader hears at least what one answer changes`() async throws {
        let last = Self.onItsWay.replacingOccurrences(of: #""OPEN""#, with: #""CLOSED","taskOutcome":"FAILED""#)
        let world = try World(configuration: .init(changeCapacity: 1), .json(last))
        let changes = await world.model.changes()
        try await world.model.run()
        #expect(await Self.summaries(changes).count == 9)
    }

    // MARK: - Answers

    @Test func `the first answer tells everything, and later ones what became different`() async throws {
        let nearer = Self.onItsWay.replacingOccurrences(of: ":3,", with: ":2,")
            .replacingOccurrences(of: "37.1,", with: "37.2,")
        let world = try World(.json(Self.onItsWay), .json(Self.onItsWay), .json(nearer), .json(Self.delivered))
        let changes = try await world.changesToTheEnd()
        #expect(
            changes == [
                "state OPEN", "position 37.1", "stops 3", "distance 1234", "arrival 1738775005",
                "completion 1738775125", "route 2", "window 3600",
                "position 37.2", "stops 2",
                "state CLOSED", "position -", "stops -", "distance -", "arrival -", "completion -", "route 0",
                "window -", "ended SUCCEEDED",
            ])
    }

    @Test func `what is hidden again is gone, and shown again when it is shown`() async throws {
        let world = try World(.json(Self.hidden), .json(Self.onItsWay), .json(Self.hidden), .json(Self.delivered))
        let changes = try await world.changesToTheEnd()
        #expect(changes.first == "state OPEN" && changes[1] == "position 37.1")
        #expect(changes.count { $0 == "position -" } == 1 && changes.count { $0 == "stops -" } == 1)
        #expect(await world.model.snapshot?.vehiclePosition == nil)
    }

    @Test(arguments: [
        (#"{"startTime":"2025-02-05T17:00:00Z","endTime":"2025-02-05T17:00:00Z"}"#, "window 0"),
        (#"{"startTime":"2025-02-05T17:00:01Z","endTime":"2025-02-05T17:00:00Z"}"#, nil),
        (#"{"startTime":"2025-02-05T17:00:00Z"}"#, nil), (#"{"endTime":"2025-02-05T17:00:00Z"}"#, nil),
    ])
    func `a window may be one moment, and one that ends before it begins is none`(
        window: String, told: String?
    )
        async throws
    {
        let world = try World(.json(#"{"state":"CLOSED","taskOutcome":"FAILED","targetTimeWindow":\#(window)}"#))
        #expect(try await world.changesToTheEnd() == ["state CLOSED"] + [told].compactMap(\.self) + ["ended FAILED"])
    }

    @Test func `nothing is made up of what is not shown`() async throws {
        let world = try World(.json(Self.hidden), .json(Self.delivered))
        #expect(try await world.changesToTheEnd() == ["state OPEN", "state CLOSED", "ended SUCCEEDED"])
    }

    @Test(arguments: ["FAILED", "SUCCEEDED", "SWALLOWED_BY_A_WHALE"])
    func `the outcome is the end, also while the task is still open`(outcome: String) async throws {
        let world = try World(.json(#"{"state":"OPEN","taskOutcome":"\#(outcome)"}"#))
        #expect(try await world.changesToTheEnd() == ["state OPEN", "ended \(outcome)"])
        #expect(world.engine.requests.count == 1)
    }

    @Test func `a task that closes without an outcome may get one, or be followed by another`() async throws {
        let closed = #"{"state":"CLOSED","taskOutcome":"TASK_OUTCOME_UNSPECIFIED"}"#
        let world = try World(.json(closed), .json(Self.hidden), .json(closed), .json(Self.delivered))
        #expect(
            try await world.changesToTheEnd()
                == ["state CLOSED", "state OPEN", "state CLOSED", "ended SUCCEEDED"])
    }

    @Test func `a failure is told, and polling goes on from the old snapshot`() async throws {
        let world = try World(.json(Self.hidden), .status(404), .json(Self.hidden), .json(Self.delivered))
        #expect(
            try await world.changesToTheEnd()
                == ["state OPEN", "failure NOT_FOUND", "state CLOSED", "ended SUCCEEDED"])
    }

    @Test(arguments: ["[]", "{}", #"{"error":"login"}"#])
    func `an answer that is no shipment's is a failure, and the snapshot stays`(text: String) async throws {
        let world = try World(.json(Self.hidden), .page(text), .json(Self.hidden), .json(Self.delivered))
        #expect(
            try await world.changesToTheEnd()
                == ["state OPEN", "failure INTERNAL", "state CLOSED", "ended SUCCEEDED"])
    }

    // MARK: - Pace

    @Test func `pauses double while the engine is unavailable`() async throws {
        let world = try World(.status(503), .status(503), .json(Self.hidden), .json(Self.delivered))
        let model = world.model
        let run = Task { try await model.run() }
        var pauses: [Duration?] = []
        for _ in 1...3 { pauses.append(await world.recorder.passNextSleep(except: TripWorld.noLimit)) }
        try await run.value
        #expect(pauses == [10, 20, 5].map { .seconds($0) })
    }

    @Test func `a token server that is away keeps the interval`() async throws {
        let asked = Locked(0)
        let tokens = StubTokenProvider { subject, _ in
            let count = asked.withLock { count in
                count += 1
                return count
            }
            guard count > 2 else { throw TokenClientError(code: .unreachable, message: "Away.") }
            return TestTokens.token(for: subject)
        }
        let world = try World(tokens: tokens, .json(Self.delivered))
        let model = world.model
        let run = Task { try await model.run() }
        for _ in 1...2 {
            #expect(await world.recorder.passNextSleep(except: TripWorld.noLimit) == .seconds(5))
        }
        try await run.value
        #expect(tokens.subjects.count == 3 && world.engine.requests.count == 1)
    }

    @Test func `a cancelled model stops`() async throws {
        let world = try World(.silence)
        let model = world.model
        let changes = await model.changes()
        let run = Task { try await model.run() }
        await world.engine.waitForRequests(1)
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
        #expect(await changes.first { _ in true } == nil)
    }
}

extension ShipmentChange {
    /// A short text, to compare lists of changes by.
    fileprivate var summary: String {
        func text(_ date: Date?) -> String { date.map { "\(Int($0.timeIntervalSince1970))" } ?? "-" }
        return switch self {
        case .state(let state): "state \(state.rawValue)"
        case .vehiclePosition(let position): "position \(position.map { "\($0.point.latitude)" } ?? "-")"
        case .remainingStops(let count): "stops \(count.map(String.init) ?? "-")"
        case .remainingDistance(let meters): "distance \(meters.map(String.init) ?? "-")"
        case .estimatedArrival(let time): "arrival \(text(time))"
        case .estimatedCompletion(let time): "completion \(text(time))"
        case .route(let points): "route \(points.count)"
        case .timeWindow(let window): "window \(window.map { "\(Int($0.duration))" } ?? "-")"
        case .ended(let outcome): "ended \(outcome.rawValue)"
        case .failure(let failure): "failure \(failure.code.rawValue)"
        }
    }
}

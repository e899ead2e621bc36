// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct VehicleReporterTests {
    // MARK: - Readers

    @Test func `each reader hears of each report, whatever becomes of another`() async throws {
        let world = try ReporterWorld()
        let (gone, other) = (world.reporter.updates(), world.reporter.updates())
        let reader = Task { for await _ in gone {} }
        reader.cancel()
        await reader.value
        _ = try await world.report(1)
        let late = world.reporter.updates()
        _ = try await world.report(2)
        #expect(await late.first { _ in true }?.location?.latitude == 0.2)
        for latitude in [0.1, 0.2] { #expect(await other.first { _ in true }?.location?.latitude == latitude) }
    }

    @Test func `a reader's stream ends with the reporter`() async throws {
        let updates = try ReporterWorld().reporter.updates()
        #expect(await updates.first { _ in true } == nil)
    }

    // MARK: - What is sent

    @Test func `a report puts state and location to the vehicle`() async throws {
        let world = try ReporterWorld(configuration: .init(sensor: .coreLocation))
        await world.reporter.startTracking()
        let time = Date(timeIntervalSince1970: 1_738_774_952.543)
        await world.reporter.record(
            try LocationFix(
                latitude: 37.5, longitude: -122.25, heading: 359.7, speed: 4.5, altitude: 12, accuracy: 3, time: time))
        try await world.reporter.setState(.online)
        #expect(try await world.event().failure == nil)

        let request = try #require(world.engine.requests.first)
        #expect(request.method == "PUT")
        #expect(
            request.url.absoluteString
                == "https://engine.example/v1/providers/acme/vehicles/veh-3?updateMask=vehicle_state%2Clast_location")
        #expect(request.authorization == TestTokens.token(for: .driver(world.vehicle)).authorizationHeader)
        for name in ["Accept", "Content-Type"] {
            #expect(request.headers.contains { $0.name == name && $0.value == "application/json" })
        }
        #expect(
            String(decoding: try #require(request.body), as: UTF8.self)
                == #"{"lastLocation":{"altitude":12.0,"heading":0,"latlngAccuracy":3.0,"#
                + #""location":{"latitude":37.5,"longitude":-122.25},"locationSensor":"CORE_LOCATION","speed":4.5,"#
                + #""updateTime":"2025-02-05T17:02:32.543Z"},"vehicleState":"ONLINE"}"#)
    }

    @Test func `ids are one percent-encoded path segment each`() async throws {
        let world = try ReporterWorld(provider: "a b", vehicle: "50% Zoë", url: "http://127.0.0.1:8080/base/")
        _ = try await world.report(1)
        #expect(
            world.engine.requests.first?.url.absoluteString.hasPrefix(
                "http://127.0.0.1:8080/base/v1/providers/a%20b/vehicles/50%25%20Zo%C3%AB?") == true)
    }

    @Test(arguments: ["http://engine.example", "ftp://127.0.0.1", "https://user@engine.example", "engine"])
    func `an engine that would get tokens in the clear is refused`(url: String) throws {
        #expect(throws: TokenClientError.self) { try ReporterWorld(url: url) }
    }

    @Test func `a token is asked for at each report`() async throws {
        let world = try ReporterWorld()
        for second in 1...3 { _ = try await world.report(second) }
        #expect(world.tokens.subjects == Array(repeating: .driver(world.vehicle), count: 3))
        #expect(world.engine.requests.count == 3)
    }

    @Test func `a parked vehicle repeats its last location`() async throws {
        let world = try ReporterWorld()
        _ = try await world.report(7)
        _ = try await world.report()
        #expect(try world.engine.requests.map { try $0.latitudes } == [[0.7], [0.7]])
    }

    // MARK: - Tokens that must not leave

    private static let wrongClaims: [AuthorizationClaims?] = [
        nil, try? .init(vehicle: .any), try? .init(vehicle: VehicleID("veh-4").map { .only($0) }),
        try? .init(vehicle: VehicleID("veh-3").map { .only($0) }, trip: .any), try? .init(),
        try? .init(trip: TripID("veh-3").map { .only($0) }),
    ]

    @Test(arguments: wrongClaims)
    func `a token for anything else never leaves`(claims: AuthorizationClaims?) async throws {
        let wrong = TestTokens.token(claiming: claims)
        let world = try ReporterWorld(tokens: StubTokenProvider { _, _ in wrong })
        let failure = try #require(try await world.report(1).failure)
        #expect(world.engine.requests.isEmpty)
        #expect(world.tokens.invalidated == [wrong])
        #expect(failure.stage == .token && failure.code == .unauthenticated)
        #expect((failure.cause as? TokenClientError)?.code == .wrongToken)
        #expect(failure.message.contains("\"veh-3\"") && !failure.message.contains(wrong.compactSerialization))
    }

    @Test func `what is no token never leaves and is not repeated in the error`() async throws {
        let wrong = FleetToken("secret-but-no-token")
        let world = try ReporterWorld(tokens: StubTokenProvider { _, _ in wrong })
        let failure = try #require(try await world.report(1).failure)
        #expect(world.engine.requests.isEmpty && world.tokens.invalidated == [wrong])
        #expect(!"\(failure)".contains("secret"))
    }

    // MARK: - Refused tokens

    @Test func `after a 401 the token is renewed and the report sent once more`() async throws {
        let world = try ReporterWorld(engine: StubTransport([.status(401), .ok]))
        #expect(try await world.report(1).failure == nil)
        let tokens = (0...1).map { TestTokens.token(for: .driver(world.vehicle), serial: $0) }
        #expect(world.tokens.invalidated == [tokens[0]])
        #expect(world.engine.requests.map(\.authorization) == tokens.map(\.authorizationHeader))
        #expect(world.engine.requests.map(\.body).allSatisfy { $0 == world.engine.requests[0].body })
    }

    @Test(arguments: [401, 403]) func `a second refusal is not answered by a third attempt`(status: Int) async throws {
        let world = try ReporterWorld(engine: StubTransport([.status(status)]))
        let failure = try #require(try await world.report(1).failure)
        #expect(failure.httpStatus == status && failure.stage == .engine)
        #expect(world.engine.requests.count == 2)
        #expect(world.tokens.invalidated.count == 1)
    }

    @Test func `a 403 renews the token only right after it changed`() async throws {
        let world = try ReporterWorld(engine: StubTransport([.status(403), .ok, .status(403)]))
        #expect(try await world.report(1).failure == nil)
        #expect(try await world.report(2).failure?.code == .permissionDenied)
        #expect(try await world.report(3).failure?.code == .permissionDenied)
        #expect(world.engine.requests.count == 4)
        #expect(world.tokens.invalidated.count == 1)
    }

    /// A provider whose server signs the same bytes within a second: whole seconds, and no id of the token's own.
    private func tokensOfSeconds(on clock: ManualClock) -> StubTokenProvider {
        StubTokenProvider { subject, _ in
            TestTokens.token(for: subject, serial: Int(clock.now.sinceStart.components.seconds))
        }
    }

    @Test func `a lasting 403 is told each time and renews once, though the same token came again`() async throws {
        let recorder = SleepRecorder()
        let world = try ReporterWorld(
            tokens: self.tokensOfSeconds(on: recorder.clock), engine: StubTransport([.status(403)]),
            recorder: recorder)
        for second in 1...6 {
            let failure = try await world.report(second).failure
            #expect(failure?.code == .permissionDenied && failure?.stage == .engine)
            world.clock.advance(by: .seconds(10))
        }
        #expect(world.tokens.invalidated.count == 1)
        #expect(world.engine.requests.count == 6)
    }

    @Test func `a lasting 403 renews once, also where each report has another token`() async throws {
        let serials = Locked(0)
        let tokens = StubTokenProvider { subject, _ in
            let serial = serials.withLock { serials in
                serials += 1
                return serials
            }
            return TestTokens.token(for: subject, serial: serial)
        }
        let world = try ReporterWorld(tokens: tokens, engine: StubTransport([.status(403)]))
        for second in 1...6 { #expect(try await world.report(second).failure?.code == .permissionDenied) }
        #expect(world.tokens.invalidated.count == 1)
        #expect(world.engine.requests.count == 7)
    }

    @Test func `after a success a 403 renews a new token again`() async throws {
        let recorder = SleepRecorder()
        let world = try ReporterWorld(
            tokens: self.tokensOfSeconds(on: recorder.clock),
            engine: StubTransport([.status(403), .ok, .status(403)]), recorder: recorder)
        var codes: [RPCCode?] = []
        for second in 1...3 {
            codes.append(try await world.report(second).failure?.code)
            world.clock.advance(by: .seconds(1))
        }
        #expect(codes == [.permissionDenied, nil, .permissionDenied])
        #expect(world.tokens.invalidated.count == 2)
    }

    @Test func `a refused token is not sent again when there is no other`() async throws {
        let only = TestTokens.token(for: .driver(try VehicleID(checking: "veh-3")))
        let world = try ReporterWorld(
            tokens: StubTokenProvider { _, _ in only }, engine: StubTransport([.status(401), .ok]))
        #expect(try await world.report(1).failure?.httpStatus == 401)
        #expect(world.engine.requests.count == 1)
    }

    @Test func `a second attempt has no more time than is left of the first`() async throws {
        let recorder = SleepRecorder()
        let clock = recorder.clock
        let world = try ReporterWorld(
            engine: StubTransport { _, index in
                clock.advance(by: .seconds(5))
                return index == 0 ? .status(401) : .ok
            }, recorder: recorder)
        _ = try await world.report(1)
        #expect(world.engine.requests.map(\.timeout) == [.milliseconds(7800), .milliseconds(2800)])
    }

    @Test(arguments: [401, 429]) func `a refusal whose body does not come in time counts as one`(
        status: Int
    ) async throws {
        let recorder = SleepRecorder()
        let clock = recorder.clock
        let world = try ReporterWorld(
            engine: StubTransport { request, index in
                guard index == 0 else { return .ok }
                // The head has come, and the transport waits for the body for as long as it may.
                try await clock.sleep(until: clock.now.advanced(by: request.timeout), tolerance: nil)
                return .response(HTTPTransportResponse(status: status, headers: [("Retry-After", "30")]))
            }, recorder: recorder)
        async let report = world.report(1)
        await world.engine.waitForRequests(1)
        // The transport's and the call's own.
        await clock.waitForSleepers(2)
        clock.advance(by: try #require(world.engine.requests.first).timeout)
        let failure = try await report.failure
        if status == 401 {
            #expect(failure == nil && world.tokens.invalidated.count == 1 && world.engine.requests.count == 2)
        } else {
            #expect(failure?.httpStatus == 429 && failure?.retryAfter == .seconds(30))
        }
    }

    @Test func `a report for which there was no token does not make the one before it new`() async throws {
        let asked = Locked(0)
        let world = try ReporterWorld(
            tokens: StubTokenProvider { subject, invalidations in
                let count = asked.withLock { count in
                    count += 1
                    return count
                }
                if count == 2 { throw TokenClientError(code: .unreachable, message: "Away.") }
                return TestTokens.token(for: subject, serial: invalidations)
            }, engine: StubTransport([.ok, .status(403)]))
        #expect(try await world.report(1).failure == nil)
        #expect(try await world.report(2).failure?.stage == .token)
        #expect(try await world.report(3).failure?.code == .permissionDenied)
        #expect(world.engine.requests.count == 2 && world.tokens.invalidated.isEmpty)
    }

    @Test(arguments: [301, 302, 307]) func `a redirect took nothing, whatever it brings`(status: Int) async throws {
        let world = try ReporterWorld(engine: StubTransport([.status(status), .ok]))
        let event = try await world.report(1)
        #expect(event.failure?.httpStatus == status && event.unsentCount == 1)
    }

    @Test(arguments: [400, 404, 429, 500, 503]) func `other refusals leave the token alone`(status: Int) async throws {
        let world = try ReporterWorld(engine: StubTransport([.status(status)]))
        #expect(try await world.report(1).failure?.httpStatus == status)
        #expect(world.engine.requests.count == 1 && world.tokens.invalidated.isEmpty)
    }

    @Test func `without a token nothing is sent and the fix is kept`() async throws {
        let world = try ReporterWorld(
            tokens: StubTokenProvider { _, _ in throw TokenClientError(code: .refused, message: "Sign in again.") })
        let event = try await world.report(1)
        #expect(event.failure?.stage == .token && event.failure?.code == .unauthenticated)
        #expect(event.failure?.message == "Sign in again.")
        #expect(event.unsentCount == 1 && world.engine.requests.isEmpty)
    }

    // MARK: - Bad connections

    @Test func `unsent fixes go with the next report, oldest first`() async throws {
        let world = try ReporterWorld(engine: StubTransport([.offline, .status(503), .ok]))
        #expect(try await world.report(1, 2).unsentCount == 2)
        let failed = try await world.report(3)
        #expect(failed.failure?.code == .unavailable && failed.pastLocationCount == 2 && failed.unsentCount == 3)
        let sent = try await world.report(4)
        #expect(sent.failure == nil && sent.unsentCount == 0 && sent.droppedCount == 0)
        _ = try await world.report(5)

        #expect(
            try world.engine.requests.map { try $0.latitudes } == [
                [0.1, 0.2], [0.1, 0.2, 0.3], [0.1, 0.2, 0.3, 0.4], [0.5],
            ])
        #expect(
            world.engine.requests.map(\.mask)
                == Array(repeating: "vehicle_state,last_location,past_locations", count: 3)
                + ["vehicle_state,last_location"])
    }

    @Test(arguments: ["<html>Sign in to this network.</html>", "", "{}", "[]", #"{"name":7}"#, #""a vehicle""#])
    func `a success that is no vehicle took nothing`(body: String) async throws {
        let world = try ReporterWorld(engine: StubTransport([.page(body), .ok]))
        let event = try await world.report(1)
        #expect(event.failure?.stage == .engine && event.failure?.code == .internalError)
        #expect(event.failure?.message == "The engine's answer is not a vehicle.")
        #expect(event.unsentCount == 1 && world.tokens.invalidated.isEmpty)
        #expect(try await world.report(2).failure == nil)
        #expect(try world.engine.requests.map { try $0.latitudes } == [[0.1], [0.1, 0.2]])
    }

    @Test(arguments: [true, false])
    func `a provider or transport that ignores its cancellation is left behind at the time limit`(
        isProvider: Bool
    ) async throws {
        let held = HeldCalls()
        defer { held.release() }
        let world = try ReporterWorld(
            tokens: StubTokenProvider { subject, _ in
                if isProvider { await held.wait() }
                return TestTokens.token(for: subject)
            },
            engine: StubTransport { _, _ in
                await held.wait()
                return .ok
            })
        async let event = world.report(1)
        await held.waitForCall()
        await world.clock.waitForSleepers(1)
        world.clock.advance(by: .seconds(8))
        let failure = try await event.failure
        #expect(failure?.code == .deadlineExceeded && failure?.stage == (isProvider ? .token : .connection))
    }

    @Test func `the oldest fixes are dropped from a full buffer, and counted`() async throws {
        let world = try ReporterWorld(
            engine: StubTransport([.offline, .offline, .ok]), configuration: .init(capacity: 3))
        #expect(try await world.report(1, 2).droppedCount == 0)
        #expect(try await world.report(3, 4, 5).droppedCount == 2)
        let sent = try await world.report(6)
        #expect(sent.droppedCount == 1 && sent.pastLocationCount == 2)
        #expect(try world.engine.requests.last?.latitudes == [0.4, 0.5, 0.6])
    }

    @Test func `360 fixes are kept unless told otherwise`() async throws {
        let world = try ReporterWorld()
        await world.reporter.startTracking()
        for second in 1...361 { await world.reporter.record(try .at(second)) }
        await world.reporter.reportNow()
        let event = try await world.event()
        #expect(event.pastLocationCount == 359 && event.droppedCount == 1)
    }

    @Test func `fixes that the engine refuses for good do not block those behind them`() async throws {
        let world = try ReporterWorld(engine: StubTransport([.status(400), .ok]))
        let refused = try await world.report(1, 2)
        #expect(refused.droppedCount == 2 && refused.unsentCount == 0)
        #expect(try await world.report(3).failure == nil)
        #expect(try world.engine.requests.last?.latitudes == [0.3])
    }

    @Test func `a location that the engine refuses is not sent again, and the state goes without it`() async throws {
        let world = try ReporterWorld(engine: StubTransport([.status(400), .ok]))
        #expect(try await world.report(1).failure?.code == .invalidArgument)
        try await world.reporter.setState(.online)
        #expect(try await world.event().failure == nil)
        #expect(world.engine.requests.map(\.mask) == ["vehicle_state,last_location", "vehicle_state"])
        #expect(try await world.report(2).failure == nil)
        #expect(try world.engine.requests.last?.latitudes == [0.2])
    }

    @Test(arguments: [(StubTransport.Answer.ok, 0), (.offline, 2), (.status(400), 3)])
    func `only fixes that did not arrive count as lost`(answer: StubTransport.Answer, count: Int) async throws {
        let (held, release) = AsyncStream.makeStream(of: Void.self)
        let world = try ReporterWorld(
            engine: StubTransport { _, _ in
                for await _ in held { break }
                return answer
            }, configuration: .init(capacity: 3))
        await world.reporter.startTracking()
        for second in 1...3 { await world.reporter.record(try .at(second)) }
        async let first: Void = world.reporter.reportNow()
        await world.engine.waitForRequests(1)
        // The first two make room; they are on their way.
        for second in 4...5 { await world.reporter.record(try .at(second)) }
        release.yield()
        await first
        #expect(try await world.event().droppedCount == count)
    }

    @Test func `fixes that come while a report is on its way go with the next one`() async throws {
        let (engine, release) = StubTransport.takingAll(holding: 0)
        let world = try ReporterWorld(engine: engine)
        async let first = world.reporter.startAndReport(1)
        await world.engine.waitForRequests(1)
        await world.reporter.record(try .at(2))
        await world.reporter.record(try .at(3))
        release.yield()
        try await first
        #expect(try await world.event().unsentCount == 2)
        _ = try await world.report()
        #expect(try world.engine.requests.map { try $0.latitudes } == [[0.1], [0.2, 0.3]])
    }

    // MARK: - Events

    @Test(
        arguments: [
            (404, #"{"status":"NOT_FOUND","message":"No vehicle."}"#, RPCCode.notFound, nil, "No vehicle."),
            (
                403,
                #"{"status":"PERMISSION_DENIED","message":"No.","details":[{"x":1},{"reason":"CLAIM_MISMATCH"}]}"#,
                .permissionDenied, "CLAIM_MISMATCH", "No."
            ),
            (400, #"{"status":"FAILED_PRECONDITION","message":"Busy."}"#, .failedPrecondition, nil, "Busy."),
            (503, nil, .unavailable, nil, "The engine answered with HTTP status 503 and no error text."),
            (502, #""proxy""#, .unavailable, nil, "The engine answered with HTTP status 502 and no error text."),
            (429, #"{"status":"SOMETHING_NEW","message":"Slow."}"#, .resourceExhausted, nil, "Slow."),
        ] as [(Int, String?, RPCCode, String?, String)]
    )
    func `an event tells the code and reason of a refusal`(
        status: Int, body: String?, code: RPCCode, reason: String?, message: String
    ) async throws {
        let world = try ReporterWorld(engine: StubTransport([.status(status, body)]))
        let failure = try #require(try await world.report(1).failure)
        #expect(failure.code == code && failure.reason == reason && failure.message == message)
    }

    @Test func `an event tells how long the report waited for tokens`() async throws {
        let recorder = SleepRecorder()
        let clock = recorder.clock
        let world = try ReporterWorld(
            tokens: StubTokenProvider { subject, invalidations in
                clock.advance(by: .seconds(2))
                return TestTokens.token(for: subject, serial: invalidations)
            },
            engine: StubTransport { _, index in
                clock.advance(by: .seconds(1))
                return index == 0 ? .status(401) : .ok
            }, recorder: recorder)
        let event = try await world.report(1)
        #expect(event.failure == nil)
        #expect(event.tokenWait == .seconds(4))
        #expect(event.location?.latitude == 0.1)
    }

    @Test func `a slow reader gets the newest events`() async throws {
        let world = try ReporterWorld(configuration: .init(eventCapacity: 2))
        await world.reporter.startTracking()
        for second in 1...5 {
            await world.reporter.record(try .at(second))
            await world.reporter.reportNow()
        }
        #expect(try await world.event().location?.latitude == 0.4)
        #expect(try await world.event().location?.latitude == 0.5)
    }
}

/// Calls that nothing but the test ends.
private final class HeldCalls: Sendable {
    private let calls = Locked<[CheckedContinuation<Void, Never>]>([])
    private let arrivals = AsyncStream.makeStream(of: Void.self)

    func wait() async {
        await withCheckedContinuation { call in
            self.calls.withLock { $0.append(call) }
            self.arrivals.continuation.yield()
        }
    }

    func waitForCall() async {
        for await _ in self.arrivals.stream { break }
    }

    func release() {
        for call in self.calls.withLock({ $0 }) { call.resume() }
    }
}

extension VehicleReporter {
    /// Starts tracking, records one fix and reports it.
    fileprivate func startAndReport(_ second: Int) async throws {
        self.startTracking()
        self.record(try .at(second))
        await self.reportNow()
    }
}

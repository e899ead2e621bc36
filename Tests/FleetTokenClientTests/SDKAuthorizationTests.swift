// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct SDKAuthorizationTests {
    private struct Answer: Sendable {
        var token: String?
        var error: NSError?
    }

    private func answer(_ ask: (@escaping SDKAuthorization.Completion) -> Void) async throws -> Answer {
        let (answers, sink) = AsyncStream.makeStream(of: Answer.self)
        ask { sink.yield(Answer(token: $0, error: $1 as NSError?)) }
        let answer = await answers.first { _ in true }
        return try #require(answer)
    }

    private func driverAnswer(
        _ vehicle: String?, task: String? = nil, service: SDKAuthorization.DriverService = .onDemandTrips,
        tokens: any TokenProvider = StubTokenProvider()
    ) async throws -> Answer {
        try await self.answer { completion in
            SDKAuthorization(tokens).fetchDriverToken(
                vehicleID: vehicle, taskID: task, service: service, completion: completion)
        }
    }

    @Test func `the context decides whose token is asked for`() async throws {
        let tokens = StubTokenProvider()
        let onDemand = try await self.driverAnswer("veh-3", tokens: tokens)
        _ = try await self.driverAnswer("veh-3", task: "", tokens: tokens)
        _ = try await self.driverAnswer("van-1", service: .scheduledTasks, tokens: tokens)
        _ = try await self.driverAnswer("van-1", task: "task-9", service: .scheduledTasks, tokens: tokens)
        _ = try await self.answer { SDKAuthorization(tokens).fetchConsumerToken(tripID: "trip-7", completion: $0) }

        let vehicle = TokenSubject.driver(try VehicleID(checking: "veh-3"))
        let van = try DeliveryVehicleID(checking: "van-1")
        #expect(
            tokens.subjects == [
                vehicle, vehicle, .deliveryDriver(van), .deliveryDriver(van, task: try TaskID(checking: "task-9")),
                .consumer(try TripID(checking: "trip-7")),
            ])
        #expect(onDemand.token == TestTokens.token(for: vehicle).compactSerialization)
        #expect(onDemand.error == nil)
    }

    @Test func `a question that cannot be answered gets a stable error with the fix`() async throws {
        let tokens = StubTokenProvider()
        let noTrip = try await self.answer {
            SDKAuthorization(tokens).fetchConsumerToken(tripID: nil, completion: $0)
        }
        let answers = [
            (try await self.driverAnswer(nil, tokens: tokens), 201, "pass the context"),
            (noTrip, 201, "pass the context"),
            (try await self.driverAnswer("", tokens: tokens), 202, "give the SDK the vehicle's id"),
            (try await self.driverAnswer("veh/3", tokens: tokens), 203, "Give the SDK an id"),
            (try await self.driverAnswer("*", tokens: tokens), 203, "Give the SDK an id"),
            (
                try await self.driverAnswer("van-1", task: "a:b", service: .scheduledTasks, tokens: tokens), 203,
                "Give the SDK an id"
            ),
            (try await self.driverAnswer("veh-3", task: "task-9", tokens: tokens), 204, "scheduled tasks"),
        ]
        for (answer, code, fix) in answers {
            #expect(answer.token == nil)
            #expect(answer.error?.domain == "FPTokenErrorDomain")
            #expect(answer.error?.code == code)
            #expect(answer.error?.localizedDescription.contains(fix) == true, "\(String(describing: answer.error))")
        }
        #expect(tokens.subjects.isEmpty)
    }

    @Test func `a provider's failure keeps its kind and its cause`() async throws {
        let refusing = StubTokenProvider { _, _ in throw TokenClientError(code: .refused, message: "Sign in again.") }
        let refused = try #require(try await self.driverAnswer("veh-3", tokens: refusing).error)
        #expect(refused.code == SDKAuthorizationError.Code.refused.rawValue)
        #expect(refused.localizedDescription == "Sign in again.")
        #expect((refused.userInfo[NSUnderlyingErrorKey] as? TokenClientError)?.code == .refused)

        let odd = StubTokenProvider { _, _ in throw URLError(.badURL) }
        let failed = try #require(try await self.driverAnswer("veh-3", tokens: odd).error)
        #expect(failed.code == SDKAuthorizationError.Code.providerFailed.rawValue)
        #expect(failed.userInfo[NSUnderlyingErrorKey] is URLError)

        let session = NSError(domain: "app", code: 3, userInfo: [NSLocalizedDescriptionKey: "No session."])
        let worded = StubTokenProvider { _, _ in throw session }
        let told = try #require(try await self.driverAnswer("veh-3", tokens: worded).error)
        #expect(told.code == SDKAuthorizationError.Code.providerFailed.rawValue)
        #expect(told.localizedDescription == "No session.")

        let gone = StubTokenProvider { _, _ in throw CancellationError() }
        let cancelled = try #require(try await self.driverAnswer("veh-3", tokens: gone).error)
        #expect(cancelled.code == SDKAuthorizationError.Code.cancelled.rawValue)
    }

    @Test func `every failure of the token client has a number of its own`() {
        let codes: [TokenClientError.Code] = [
            .invalidConfiguration, .insecureURL, .unreachable, .timedOut, .refused, .rateLimited, .invalidAnswer,
            .wrongToken, .expired, .excessiveRefresh, .lifeUnavailable, .storeFailed,
        ]
        let numbers = codes.map { SDKAuthorizationError(TokenClientError(code: $0, message: "")).code.rawValue }
        #expect(numbers == Array(1...12))
        let natives = codes.map { TokenClientError(code: $0, message: "Why.") as any Error as NSError }
        #expect(natives.map(\.code) == Array(1...12))
        #expect(natives.map { $0.userInfo["FPTokenErrorName"] as? String } == codes.map(\.description))
        #expect(natives.allSatisfy { $0.domain == "FPTokenErrorDomain" && $0.localizedDescription == "Why." })
    }

    @Test func `an app's code for NSError reads what the Swift error says`() {
        let cause = TokenClientError(
            code: .rateLimited, message: "Wait.", httpStatus: 429, retryAfter: .milliseconds(1500))
        let native = cause as any Error as NSError
        #expect(native.userInfo["FPTokenErrorHTTPStatus"] as? Int == 429)
        #expect(native.userInfo["FPTokenErrorRetryAfter"] as? Double == 1.5)
        for code in SDKAuthorizationError.Code.allCases {
            let error: any Error = SDKAuthorizationError(code: code, message: "Why.", cause: cause)
            #expect(error.localizedDescription == "Why." && (error as NSError).code == code.rawValue)
            #expect((error as NSError).domain == "FPTokenErrorDomain")
            #expect((error as NSError).userInfo[NSUnderlyingErrorKey] is TokenClientError)
        }
        for code in RPCCode.allCases {
            let error: any Error = EngineFailure(stage: .engine, code: code, message: "Why.")
            #expect(error.localizedDescription == "Why." && (error as NSError).code == code.number)
            #expect((error as NSError).domain == "io.grpc")
        }
    }

    @Test func `the limit ends a wait without a token`() async throws {
        let clock = ManualClock()
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let hanging = StubTokenProvider { subject, _ in
            await Task { for await _ in gate {} }.value
            return TestTokens.token(for: subject)
        }
        async let answer = self.answer { completion in
            SDKAuthorization(hanging, within: .seconds(4), clock: clock).fetchConsumerToken(
                tripID: "trip-7", completion: completion)
        }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(4))
        #expect(try await answer.error?.code == SDKAuthorizationError.Code.timedOut.rawValue)
        opener.finish()
    }

    // MARK: - Refused tokens

    @Test func `what a vehicle got last is dropped when the engine refused it`() async throws {
        let tokens = StubTokenProvider()
        let authorization = SDKAuthorization(tokens)
        func ask(_ vehicle: String, task: String? = nil) async throws -> String? {
            try await self.answer { completion in
                authorization.fetchDriverToken(
                    vehicleID: vehicle, taskID: task, service: .scheduledTasks, completion: completion)
            }.token
        }
        _ = try await ask("van-1")
        let refused = try #require(try await ask("van-1", task: "task-9"))
        _ = try await ask("van-2")
        authorization.lastTokenWasRefused(vehicleID: "van-3")
        authorization.lastTokenWasRefused(tripID: "van-1")
        #expect(tokens.invalidated.isEmpty)
        authorization.lastTokenWasRefused(vehicleID: "van-1")
        #expect(tokens.invalidated == [FleetToken(refused)])
        #expect(try await ask("van-1", task: "task-9") != refused)
    }

    @Test func `what a trip got last is dropped once when the engine refused it`() async throws {
        let tokens = StubTokenProvider()
        let authorization = SDKAuthorization(tokens)
        let answer = try await self.answer { authorization.fetchConsumerToken(tripID: "trip-7", completion: $0) }
        let refused = FleetToken(try #require(answer.token))
        authorization.lastTokenWasRefused(vehicleID: "trip-7")
        #expect(tokens.invalidated.isEmpty)
        authorization.lastTokenWasRefused(tripID: "trip-7")
        authorization.lastTokenWasRefused(tripID: "trip-7")
        authorization.tokenWasRefused(refused.compactSerialization)
        #expect(tokens.invalidated == [refused])
    }

    @Test func `a token that is known to be refused is dropped, and another is not`() async throws {
        let tokens = StubTokenProvider()
        let authorization = SDKAuthorization(tokens)
        let answer = try await self.answer { authorization.fetchConsumerToken(tripID: "trip-7", completion: $0) }
        let refused = try #require(answer.token)
        authorization.tokenWasRefused(TestTokens.token(for: .fleetReader).compactSerialization)
        #expect(tokens.invalidated.isEmpty)
        authorization.tokenWasRefused(refused)
        #expect(tokens.invalidated == [FleetToken(refused)])
    }

    @Test func `a question that fails leaves the token before it in use, which can be refused`() async throws {
        let isSignedOut = Locked(false)
        let tokens = StubTokenProvider { subject, _ in
            if isSignedOut.withLock({ $0 }) { throw TokenClientError(code: .refused, message: "Sign in again.") }
            return TestTokens.token(for: subject)
        }
        let authorization = SDKAuthorization(tokens)
        let answer = try await self.answer { authorization.fetchConsumerToken(tripID: "trip-7", completion: $0) }
        isSignedOut.withLock { $0 = true }
        let failed = try await self.answer { authorization.fetchConsumerToken(tripID: "trip-7", completion: $0) }
        #expect(failed.token == nil)
        authorization.lastTokenWasRefused(tripID: "trip-7")
        #expect(tokens.invalidated == [FleetToken(try #require(answer.token))])
    }

    @Test func `only the newest tokens are remembered`() throws {
        var handedOut = HandedOutTokens()
        let trips = try (0...16).map { TokenSubject.consumer(try TripID(checking: "trip-\($0)")) }
        for trip in trips { handedOut.note(TestTokens.token(for: trip), for: trip) }
        let oldest = handedOut.takeNewest { subject, _ in subject == trips[0] }
        let next = handedOut.takeNewest { subject, _ in subject == trips[1] }
        #expect(oldest?.subject == nil)
        #expect(next?.subject == trips[1])
    }

    @Test func `even a bad question is not answered on its own stack`() async throws {
        let key = "in the question"
        let answer = try await self.answer { completion in
            Thread.current.threadDictionary[key] = true
            defer { Thread.current.threadDictionary.removeObject(forKey: key) }
            SDKAuthorization(StubTokenProvider()).fetchConsumerToken(tripID: nil) { token, error in
                let isOnStack = Thread.current.threadDictionary[key] != nil
                completion(isOnStack ? "on the stack" : token, error)
            }
        }
        #expect(answer.token == nil)
        #expect(answer.error != nil)
    }

    // MARK: - Fetchers of an app's own

    @Test func `the first call of a fetcher's completion counts`() async throws {
        let token = try await AuthorizationAnswer.token { completion in
            completion("first", nil)
            completion(nil, URLError(.badURL))
        }
        #expect(token == FleetToken("first"))
    }

    @Test func `a completion that is given up ends the wait`() async throws {
        let error = await #expect(throws: TokenClientError.self) { try await AuthorizationAnswer.token { _ in } }
        #expect(error?.code == .invalidAnswer)
        #expect(error?.message.contains("gave up") == true)
    }

    @Test(arguments: [nil, ""])
    func `neither token nor error is an error`(token: String?) async throws {
        let error = await #expect(throws: TokenClientError.self) {
            try await AuthorizationAnswer.token { $0(token, nil) }
        }
        #expect(error?.code == .invalidAnswer)
    }

    @Test func `what an authorization wrapped comes unwrapped where that says more`() async throws {
        func thrown(_ error: SDKAuthorizationError) async -> NSError? {
            do {
                _ = try await AuthorizationAnswer.token { $0(nil, error.nsError) }
                return nil
            } catch {
                return error as NSError
            }
        }
        let own = await thrown(SDKAuthorizationError(URLError(.timedOut)))
        #expect(own?.domain == NSURLErrorDomain && own?.code == URLError.Code.timedOut.rawValue)

        let below = TokenClientError(code: .unreachable, message: "Below.")
        let above = await #expect(throws: TokenClientError.self) {
            try await AuthorizationAnswer.token {
                $0(nil, TokenClientError(code: .refused, message: "Above.", cause: below))
            }
        }
        #expect(above?.code == .refused)

        let cause = TokenError(code: .invalidIdentifier, message: "An id holds a slash.")
        let mistake = await thrown(SDKAuthorizationError(code: .invalidID, message: "Mend it.", cause: cause))
        #expect(mistake?.domain == SDKAuthorizationError.domain && mistake?.code == 203)
    }

    @Test func `cancelling ends the wait for a fetcher that keeps its completion`() async throws {
        let kept = Locked<(@Sendable (String?, (any Error)?) -> Void)?>(nil)
        let (asked, sink) = AsyncStream.makeStream(of: Void.self)
        let wait = Task {
            try await AuthorizationAnswer.token { completion in
                kept.withLock { $0 = completion }
                sink.finish()
            }
        }
        for await _ in asked {}
        wait.cancel()
        await #expect(throws: CancellationError.self) { try await wait.value }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import GoogleRidesharingConsumer
import GoogleRidesharingDriver
import Testing

/// The adoption sources next to modules with the SDKs' names.
@Suite(.timeLimit(.minutes(1))) struct AdoptionTests {
    private struct Answer: Sendable {
        var token: String?
        var error: NSError?
    }

    private let tokens = StubTokenProvider()

    /// The one answer to a question.
    private func answer(_ ask: (@escaping (String?, (any Error)?) -> Void) -> Void) async throws -> Answer {
        let (answers, sink) = AsyncStream.makeStream(of: Answer.self)
        ask { sink.yield(Answer(token: $0, error: $1 as NSError?)) }
        let answer = await answers.first { _ in true }
        return try #require(answer)
    }

    private func answer(
        _ authorization: any GMTDAuthorization, _ context: GMTDAuthorizationContext?
    ) async throws
        -> Answer
    {
        try await self.answer { authorization.fetchToken(with: context, completion: $0) }
    }

    private func answer(
        _ authorization: any GMTCAuthorization, _ context: GMTCAuthorizationContext?
    ) async throws
        -> Answer
    {
        try await self.answer { authorization.fetchToken(with: context, completion: $0) }
    }

    @Test func `the Driver SDK gets the vehicle's token`() async throws {
        let authorization = FleetDriverAuthorization(self.tokens)
        let answer = try await self.answer(
            authorization, GMTDAuthorizationContext(vehicleID: "veh-3", taskID: nil))
        let subject = TokenSubject.driver(try VehicleID(checking: "veh-3"))
        #expect(answer.token == TestTokens.token(for: subject).compactSerialization)
        #expect(answer.error == nil)
        #expect(self.tokens.subjects == [subject])
    }

    @Test func `a delivery driver's task is honoured`() async throws {
        let authorization = FleetDriverAuthorization(self.tokens, service: .scheduledTasks)
        _ = try await self.answer(authorization, GMTDAuthorizationContext(vehicleID: "van-1", taskID: "task-9"))
        _ = try await self.answer(authorization, GMTDAuthorizationContext(vehicleID: "van-1", taskID: nil))
        let van = try DeliveryVehicleID(checking: "van-1")
        #expect(
            self.tokens.subjects
                == [.deliveryDriver(van, task: try TaskID(checking: "task-9")), .deliveryDriver(van)])
    }

    @Test func `the Consumer SDK gets the trip's token`() async throws {
        let answer = try await self.answer(
            FleetConsumerAuthorization(self.tokens), GMTCAuthorizationContext(tripID: "trip-7"))
        let subject = TokenSubject.consumer(try TripID(checking: "trip-7"))
        #expect(answer.token == TestTokens.token(for: subject).compactSerialization)
        #expect(self.tokens.subjects == [subject])
    }

    @Test func `a question without an id gets an error with a number and the fix`() async throws {
        let driver = FleetDriverAuthorization(self.tokens)
        let consumer = FleetConsumerAuthorization(self.tokens)
        let answers = [
            (try await self.answer(driver, nil), SDKAuthorizationError.Code.missingContext),
            (try await self.answer(driver, GMTDAuthorizationContext(vehicleID: "", taskID: nil)), .missingID),
            (try await self.answer(driver, GMTDAuthorizationContext(vehicleID: "a/b", taskID: nil)), .invalidID),
            (try await self.answer(driver, GMTDAuthorizationContext(vehicleID: "v", taskID: "t")), .unexpectedTask),
            (try await self.answer(consumer, nil), .missingContext),
            (try await self.answer(consumer, GMTCAuthorizationContext(tripID: "")), .missingID),
            (try await self.answer(consumer, GMTCAuthorizationContext(tripID: "*")), .invalidID),
        ]
        for (answer, code) in answers {
            #expect(answer.token == nil)
            #expect(answer.error?.domain == SDKAuthorizationError.domain)
            #expect(answer.error?.code == code.rawValue)
            #expect(answer.error?.localizedDescription.isEmpty == false)
        }
        #expect(self.tokens.subjects.isEmpty)
    }

    @Test func `a token that the engine refused is dropped`() async throws {
        let driver = FleetDriverAuthorization(self.tokens)
        let consumer = FleetConsumerAuthorization(self.tokens)
        let vehicle = GMTDAuthorizationContext(vehicleID: "veh-3", taskID: nil)
        let trip = GMTCAuthorizationContext(tripID: "trip-7")
        let refused = [try await self.answer(driver, vehicle).token, try await self.answer(consumer, trip).token]
        driver.lastTokenWasRefused(vehicleID: "veh-3")
        consumer.lastTokenWasRefused(tripID: "trip-7")
        let next = [try await self.answer(driver, vehicle).token, try await self.answer(consumer, trip).token]
        #expect(!next.contains(nil) && Set(refused).isDisjoint(with: next))
    }

    @Test func `a provider that hangs ends at the limit`() async throws {
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let hanging = StubTokenProvider { subject, _ in
            await Task { for await _ in gate {} }.value
            return TestTokens.token(for: subject)
        }
        let authorization = FleetConsumerAuthorization(hanging, within: .milliseconds(20))
        let answer = try await self.answer(authorization, GMTCAuthorizationContext(tripID: "trip-7"))
        #expect(answer.error?.code == SDKAuthorizationError.Code.timedOut.rawValue)
        opener.finish()
    }

    @Test func `the SDK is answered when the app has let go of the authorization`() async throws {
        let answer = try await self.answer { completion in
            let authorization = FleetDriverAuthorization(StubTokenProvider())
            authorization.fetchToken(
                with: GMTDAuthorizationContext(vehicleID: "veh-3", taskID: nil), completion: completion)
        }
        #expect(answer.token != nil)
    }

    @Test func `the SDK is never answered on its own stack`() async throws {
        let key = "in the question"
        for context in [GMTDAuthorizationContext(vehicleID: "veh-3", taskID: nil), nil] {
            let answer = try await self.answer { completion in
                Thread.current.threadDictionary[key] = true
                defer { Thread.current.threadDictionary.removeObject(forKey: key) }
                FleetDriverAuthorization(self.tokens).fetchToken(with: context) { _, _ in
                    completion(Thread.current.threadDictionary[key] == nil ? "later" : "at once", nil)
                }
            }
            #expect(answer.token == "later")
        }
    }
}

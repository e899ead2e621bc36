// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens
import Foundation

/// Asks the engine again and again, for a model that says what to ask and what to make of the answer.
struct EnginePolling: Sendable {
    /// What one question came to.
    struct Round: Sendable {
        var failure: EngineFailure?
        /// Whether nothing more will happen.
        var isOver: Bool
    }

    let configuration: TripModelConfiguration
    private let call: AuthorizedCall
    private let time: MonotonicTime
    private let random: @Sendable () -> Double

    /// Makes what asks about one trip or shipment.
    ///
    /// - Throws: `TokenClientError` with `insecureURL` or `invalidConfiguration` when the engine's URL will not do.
    init(
        engine: URL, subject: TokenSubject, tokens: any TokenProvider, transport: any HTTPTransport,
        clock: some Clock<Duration>, configuration: TripModelConfiguration, random: @escaping @Sendable () -> Double
    ) throws(TokenClientError) {
        self.time = MonotonicTime(clock)
        self.call = AuthorizedCall(
            endpoint: try EngineEndpoint(engine),
            subject: subject,
            tokens: tokens,
            transport: transport,
            time: self.time
        )
        self.configuration = configuration
        self.random = random
    }

    /// Makes one question.
    ///
    /// - Parameters:
    ///   - request: The question.
    ///   - lastToken: The token of the last one.
    /// - Returns: The answer.
    /// - Throws: `CancellationError` when the calling task was cancelled.
    func ask(_ request: EngineRequest, lastToken: LastToken) async throws -> EngineAnswer {
        try await self.call.send(lastToken: lastToken, limit: self.configuration.timeLimit) { request }
    }

    /// Asks until it is over, never two questions at once.
    ///
    /// - Parameter ask: Makes one question.
    /// - Throws: `CancellationError` when the calling task was cancelled.
    func run(_ ask: () async throws -> Round) async throws {
        var failures = 0
        while true {
            let round = try await ask()
            if round.isOver { return }
            failures = round.failure?.isOverload == true ? failures + 1 : 0
            let pause = self.configuration.pause(afterFailures: failures, random: self.random())
            try await self.time.sleep(
                until: self.time.now.advanced(by: max(pause, round.failure?.retryAfter ?? .zero)))
        }
    }

    /// Reads an answer.
    ///
    /// - Parameters:
    ///   - type: The message that the engine sends.
    ///   - answer: The answer.
    ///   - name: What the message is, for the error.
    /// - Returns: The message.
    /// - Throws: `EngineFailure`.
    static func message<Message: Decodable>(
        _ type: Message.Type, in answer: EngineAnswer, named name: String
    ) throws(EngineFailure) -> Message {
        let body = try answer.result.get()
        do {
            return try JSONDecoder().decode(type, from: body)
        } catch {
            throw EngineFailure(
                stage: .engine, code: .internalError, message: "The engine's answer is not \(name).", cause: error)
        }
    }
}

extension EngineFailure {
    /// Whether asking the engine less often helps; a token server that is away is the provider's to ask less often.
    fileprivate var isOverload: Bool {
        let overload: Set<RPCCode> = [.unavailable, .resourceExhausted, .deadlineExceeded]
        return self.stage != .token && overload.contains(self.code)
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation

/// Asks the company's own backend whether a caller may have a token.
///
/// The request is a JSON object, signed with HMAC-SHA-256 over its time and body. Only an answer with status 200 and
/// `{"decision": "grant"}` or `{"decision": "refuse"}` counts; anything else is an error and nothing is issued.
final class PolicyWebhook: Sendable {
    private struct Question: Hashable {
        let caller: Caller
        let type: TokenType
        let rule: String
    }

    private struct Answer {
        let isGranted: Bool
        let endsAt: Duration
    }

    /// How questions were answered.
    struct Statistics: Sendable {
        var kept = 0
        var granted = 0
        var refused = 0
        var failed = 0
    }

    /// How many answers are kept.
    static let capacity = 10_000

    private let url: String
    private let timeout: Duration
    private let keptFor: Duration
    private let secret: SharedSecret
    private let transport: any UpstreamTransport
    private let time: TimeSource
    private let counts = Locked(Statistics())
    private let answers = Locked(RecentEntries<Question, Answer>(capacity: PolicyWebhook.capacity))

    init(
        _ settings: PolicyFile.Webhook, secret: SharedSecret, transport: any UpstreamTransport,
        time: TimeSource
    ) {
        self.url = settings.url
        self.timeout = settings.timeout
        self.keptFor = settings.cache
        self.secret = secret
        self.transport = transport
        self.time = time
    }

    /// What happened so far.
    var statistics: Statistics { self.counts.withLock { $0 } }

    /// Whether the backend grants a token, as it said lately or says now.
    ///
    /// - Parameters:
    ///   - type: The token.
    ///   - caller: Who asks.
    ///   - rule: The rule that asks the backend.
    ///   - time: When the token is asked for.
    /// - Returns: Whether it is granted.
    /// - Throws: ``PolicyUnavailable`` when there is no answer that counts.
    func grants(_ type: TokenType, to caller: Caller, rule: String, at time: Date) async throws -> Bool {
        let question = Question(caller: caller, type: type, rule: rule)
        let kept = self.answers.withLock { $0[question] }
        if let kept, self.time.uptime < kept.endsAt {
            self.counts.withLock { $0.kept += 1 }
            return kept.isGranted
        }
        let isGranted: Bool
        do {
            isGranted = try await self.ask(question, at: time)
        } catch let error as PolicyUnavailable {
            self.counts.withLock { $0.failed += 1 }
            throw error
        }
        self.counts.withLock { if isGranted { $0.granted += 1 } else { $0.refused += 1 } }
        let answer = Answer(isGranted: isGranted, endsAt: self.time.uptime + self.keptFor)
        self.answers.withLock { $0[question] = answer }
        return isGranted
    }

    private func ask(_ question: Question, at time: Date) async throws -> Bool {
        let body = try Self.body(of: question, at: time)
        let seconds = Int64(time.timeIntervalSince1970)
        let response: UpstreamResponse
        do {
            response = try await self.transport.send(
                UpstreamRequest(
                    method: "POST", url: self.url,
                    headers: [
                        ("Content-Type", "application/json"), ("Accept", "application/json"),
                        (Self.signatureHeader, self.signature(of: body, at: seconds)),
                    ],
                    body: body, timeout: self.timeout, maximumBytes: 16 * 1024, isIdempotent: true))
        } catch let error as CancellationError {
            throw error
        } catch {
            let failure = error as? UpstreamError ?? UpstreamError(.unreachable)
            throw PolicyUnavailable(
                message: "The policy's webhook \(failure).", hasAnswer: failure.code == .answerTooLong)
        }
        return try Self.decision(in: response)
    }

    /// The header that carries the time and the signature.
    static let signatureHeader = "Fleetpass-Signature"

    /// The header's value: `t=UNIX_SECONDS,v1=HEX`, with the HMAC of the seconds, a dot, and the body.
    private func signature(of body: [UInt8], at seconds: Int64) -> String {
        let code = self.secret.authenticationCode(for: Array("\(seconds).".utf8) + body)
        return "t=\(seconds),v1=\(code.hexadecimal)"
    }

    private static func body(of question: Question, at time: Date) throws -> [UInt8] {
        func list(_ texts: some Sequence<String>) -> JSONValue { .array(texts.map(JSONValue.string)) }
        let caller = question.caller
        return JSONValue.object([
            "caller": .object([
                "issuer": .string(caller.issuer), "subject": .string(caller.subject), "name": .string(caller.name),
                "roles": list(caller.roles.map(\.rawValue).sorted()),
                "claims": .object(JSONObject(caller.claims.mapValues(list))),
            ]),
            "token": .object([
                "role": .string(question.type.role.rawValue), "authorization": try question.type.claims.json,
            ]),
            "rule": .string(question.rule),
            "time": .integer(Int64(time.timeIntervalSince1970)),
        ]).serialized
    }

    private static func decision(in response: UpstreamResponse) throws(PolicyUnavailable) -> Bool {
        guard response.status == 200, response.body.count <= 16 * 1024 else {
            throw PolicyUnavailable(message: "The policy's webhook answered with \(response.status).")
        }
        switch (try? JSONValue(parsing: response.body))?.object?["decision"]?.string {
        case "grant": return true
        case "refuse": return false
        default: throw PolicyUnavailable(message: "The policy's webhook answered with no decision.")
        }
    }
}

/// Why a policy cannot decide now; nothing is granted, and the caller is asked to come again.
package struct PolicyUnavailable: Error, CustomStringConvertible {
    let message: String
    /// Whether there was an answer, though none that counts.
    package let hasAnswer: Bool
    package var description: String { self.message }

    init(message: String, hasAnswer: Bool = true) {
        self.message = message
        self.hasAnswer = hasAnswer
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FleetSigning
import FleetTestSupport
import FleetTokens
import Foundation
import Testing

@testable import FleetTokenServer

@Suite struct PolicyWebhookTests {
    static let yaml = """
        version: 1
        webhook: {url: "https://backend.example/may", timeout: 500ms, cache: 30s}
        rules:
          - {name: ask, when: any_caller, grant: driver, for: webhook}
        """
    static let secret = Array("MARKED-0123456789-abcdefghijklmnop".utf8)
    static let caller = Caller(name: "ann", issuer: "acme", claims: ["groups": ["drivers"]])

    final class Backend: UpstreamTransport {
        let requests = Locked<[UpstreamRequest]>([])
        let answer: Locked<UpstreamResponse?>
        let failure: UpstreamError

        init(_ answer: UpstreamResponse?, failingWith failure: UpstreamError = UpstreamError(.timedOut)) {
            self.answer = Locked(answer)
            self.failure = failure
        }

        func send(_ request: UpstreamRequest) async throws -> UpstreamResponse {
            self.requests.withLock { $0.append(request) }
            guard let answer = self.answer.withLock({ $0 }) else { throw self.failure }
            return answer
        }

        static func says(_ text: String, status: Int = 200) -> UpstreamResponse {
            UpstreamResponse(status: status, body: Array(text.utf8))
        }
    }

    static func policy(_ backend: Backend, clock: ManualClock = ManualClock()) throws -> RulePolicy {
        try RulePolicy(
            yaml: Self.yaml, assignments: InMemoryAssignmentStore(),
            webhook: .init(secret: try SharedSecret(Self.secret), transport: backend), clock: clock)
    }

    static func type(_ id: String = "veh-1") throws -> TokenType { .driver(try VehicleID(checking: id)) }

    @Test func `the request is signed, bounded, and says who asks for what`() async throws {
        let backend = Backend(Backend.says(#"{"decision":"grant"}"#))
        let decision = try await Self.policy(backend).decide(
            try Self.type(), for: Self.caller, at: RulePolicyTests.noon)
        #expect(decision == .granted(rule: "ask"))
        let request = try #require(backend.requests.withLock { $0.first })
        #expect(request.method == "POST" && request.url == "https://backend.example/may")
        #expect(request.timeout == .milliseconds(500))
        let body = try #require(request.body)
        #expect(
            String(decoding: body, as: UTF8.self)
                == #"{"caller":{"claims":{"groups":["drivers"]},"issuer":"acme","name":"ann","roles":[],"subject":"ann"},"#
                + #""rule":"ask","time":1767268800,"token":{"authorization":{"vehicleid":"veh-1"},"role":"driver"}}"#)
        let code = HMAC<Crypto.SHA256>.authenticationCode(
            for: Array("1767268800.".utf8) + body, using: SymmetricKey(data: Self.secret))
        let header = request.headers.first { $0.name == "Fleetpass-Signature" }?.value
        #expect(header == "t=1767268800,v1=" + code.map { String(format: "%02x", $0) }.joined())
    }

    @Test(arguments: [
        Backend.says(#"{"decision":"grant"}"#, status: 500), Backend.says(#"{"decision":"grant"}"#, status: 201),
        Backend.says(""), Backend.says("true"), Backend.says(#"{"decision":true}"#),
        Backend.says(#"{"decision":"GRANT"}"#), Backend.says(#"{"decision":"grant","decision":"grant"}"#),
        Backend.says(#"{"allow":true}"#),
        Backend.says(String(repeating: " ", count: 17_000) + #"{"decision":"grant"}"#),
        nil,
    ])
    func `anything but a clear answer grants nothing`(answer: UpstreamResponse?) async throws {
        let backend = Backend(answer)
        let policy = try Self.policy(backend)
        let error = await #expect(throws: PolicyUnavailable.self) {
            try await policy.decide(try Self.type(), for: Self.caller, at: RulePolicyTests.noon)
        }
        #expect(error.map { "\($0)".contains("MARKED") } == false)
        // A failure is not kept.
        backend.answer.withLock { $0 = Backend.says(#"{"decision":"refuse"}"#) }
        let decision = try await policy.decide(try Self.type(), for: Self.caller, at: RulePolicyTests.noon)
        #expect(decision == .refused(rule: "ask", reason: "The webhook refused the vehicle veh-1."))
    }

    @Test func `an answer is kept for its time, for the same question only`() async throws {
        let backend = Backend(Backend.says(#"{"decision":"grant"}"#))
        let clock = ManualClock()
        let policy = try Self.policy(backend, clock: clock)
        func ask(_ id: String, _ caller: Caller = Self.caller) async throws -> Bool {
            try await policy.decide(try Self.type(id), for: caller, at: RulePolicyTests.noon).isGranted
        }
        #expect(try await ask("veh-1"))
        backend.answer.withLock { $0 = Backend.says(#"{"decision":"refuse"}"#) }
        clock.advance(by: .milliseconds(29_999))
        #expect(try await ask("veh-1"))
        #expect(try await !ask("veh-2"))
        backend.answer.withLock { $0 = Backend.says(#"{"decision":"grant"}"#) }
        #expect(try await !ask("veh-2"), "a refusal is kept like a grant")
        backend.answer.withLock { $0 = Backend.says(#"{"decision":"refuse"}"#) }
        var other = Self.caller
        other.claims = [:]
        #expect(try await !ask("veh-1", other), "a caller with other claims is another question")
        clock.advance(by: .milliseconds(1))
        #expect(try await !ask("veh-1"))
        #expect(backend.requests.withLock { $0.count } == 4)
        backend.answer.withLock { $0 = nil }
        await #expect(throws: PolicyUnavailable.self) { try await ask("veh-3") }
        let metrics = TokenServerMetrics()
        policy.report(to: metrics)
        for (outcome, count) in [("kept", 2), ("granted", 1), ("refused", 3), ("failed", 1)] {
            #expect(
                metrics.text.contains(
                    "fleetpass_policy_webhook_answers_total{outcome=\"\(outcome)\"} \(count)\n"))
        }
    }

    @Test(arguments: [
        (
            "grant: [driver, consumer], for: webhook",
            #"{"authorization":{"tripid":"fleetpass-canary"},"role":"consumer"}"#
        ),
        (
            "grant: delivery_trusted_driver, for: assigned, task: webhook",
            #"{"authorization":{"deliveryvehicleid":"fleetpass-canary","taskid":"fleetpass-canary"},"#
                + #""role":"delivery_trusted_driver"}"#
        ),
    ])
    func `a trial asks for what nobody has, and takes any decision for an answer`(
        rule: String, token: String
    ) async throws {
        let backend = Backend(Backend.says(#"{"decision":"refuse"}"#))
        let policy = try RulePolicy(
            yaml: Self.yaml.replacing("grant: driver, for: webhook", with: rule),
            assignments: InMemoryAssignmentStore(),
            webhook: .init(secret: try SharedSecret(Self.secret), transport: backend))
        #expect(try await policy.tryWebhook(at: RulePolicyTests.noon))
        let body = try #require(backend.requests.withLock { $0.first?.body })
        let nobody = #"{"claims":{},"issuer":"fleetpass-doctor","name":"fleetpass-doctor","roles":[],"#
        #expect(
            String(decoding: body, as: UTF8.self)
                == #"{"caller":"# + nobody + #""subject":"fleetpass-doctor"},"rule":"ask","time":1767268800,"token":"#
                + token + "}")
    }

    @Test(arguments: [(nil, false), (Backend.says("", status: 401), true)] as [(UpstreamResponse?, Bool)])
    func `a trial tells no answer from one that is no decision`(answer: UpstreamResponse?, hasAnswer: Bool) async throws
    {
        let policy = try Self.policy(Backend(answer))
        let error = await #expect(throws: PolicyUnavailable.self) {
            try await policy.tryWebhook(at: RulePolicyTests.noon)
        }
        #expect(error?.hasAnswer == hasAnswer)
    }

    @Test(arguments: [
        (UpstreamError(.timedOut), "The policy's webhook did not answer in time", false),
        (UpstreamError(.answerTooLong), "The policy's webhook sent too long an answer", true),
        (
            UpstreamError(.unreachable, detail: "its certificate is not trusted here"),
            "The policy's webhook could not be reached: its certificate is not trusted here", false
        ),
    ])
    func `why there is no answer is told`(failure: UpstreamError, words: String, hasAnswer: Bool) async throws {
        let policy = try Self.policy(Backend(nil, failingWith: failure))
        let error = await #expect(throws: PolicyUnavailable.self) {
            try await policy.tryWebhook(at: RulePolicyTests.noon)
        }
        #expect(error.map { "\($0)".hasPrefix(words) } == true, "\(String(describing: error))")
        #expect(error?.hasAnswer == hasAnswer)
    }

    @Test func `a webhook that no rule asks is not tried`() async throws {
        let backend = Backend(nil)
        let policy = try RulePolicy(
            yaml: Self.yaml.replacing("for: webhook", with: "for: assigned"), assignments: InMemoryAssignmentStore(),
            webhook: .init(secret: try SharedSecret(Self.secret), transport: backend))
        #expect(try await !policy.tryWebhook(at: RulePolicyTests.noon))
        #expect(backend.requests.withLock { $0.isEmpty })
    }

    @Test func `a policy with a webhook and no secret is an error`() {
        let error = #expect(throws: TokenServerError.self) {
            try RulePolicy(yaml: Self.yaml, assignments: InMemoryAssignmentStore())
        }
        #expect(error?.message.contains("policy.secret_file") == true)
    }
}

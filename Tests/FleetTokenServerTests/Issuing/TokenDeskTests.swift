// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FleetSigning
import FleetTestSupport
import FleetTokens
import Foundation
import HTTPTypes
import Logging
import Testing

@testable import FleetTokenServer

@Suite struct TokenDeskTests {
    private static let now = Date(timeIntervalSince1970: 1_767_225_600)
    private static let key = Result { try ServiceAccountKey(generatingFor: "driver@acme", projectID: "acme") }

    /// Keeps records in memory, or cannot.
    final class Log: AuditLog {
        struct Full: Error {}
        let records = Locked<[AuditRecord]>([])
        let isFull: Bool

        init(isFull: Bool = false) { self.isFull = isFull }

        func append(_ record: AuditRecord) async throws {
            if self.isFull { throw Full() }
            self.records.withLock { $0.append(record) }
        }
    }

    /// Knows everybody, nobody, or cannot say.
    struct Door: CallerAuthenticator {
        var answer: @Sendable () throws -> Caller?
        func caller(of request: CallerRequest) async throws -> Caller? { try self.answer() }
    }

    private static let driver = Caller(name: "app", subject: "dora", issuer: "idp", roles: [.driver])

    private func desk(
        _ log: Log, metrics: TokenServerMetrics = TokenServerMetrics(), signs: Bool = true,
        policy: any TokenPolicy = RolePolicy(), limiter: RequestLimiter? = nil,
        clock: Locked<Date> = Locked(Self.now), signingTakes signingTime: TimeInterval = 0,
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        door: @escaping @Sendable () throws -> Caller? = { Self.driver }
    ) throws -> TokenDesk {
        let minter = TokenMinter(signer: try LocalSigner(try Self.key.get()))
        let issuer = TokenIssuer(now: { Self.now }) { claims, role, time in
            clock.withLock { $0 += signingTime }
            guard signs else { throw SigningError(code: .signingFailed, message: "The signer is down.") }
            guard role == .driver else { return nil }
            return try await minter.mint(claims, at: time)
        }
        return TokenDesk(
            issuer: issuer, authenticator: Door(answer: door), policy: policy, limiter: limiter, audit: log,
            metrics: metrics, now: { clock.withLock { $0 } }, logger: logger)
    }

    private func request(_ desk: TokenDesk, _ type: TokenType) async throws -> (IssuedToken?, Int) {
        do {
            let request = CallerRequest(headers: [:], peerAddress: "192.0.2.7")
            return (try await desk.issue(type, for: request), 200)
        } catch let refusal as TokenDeskRefusal {
            return (nil, RouteError(refusal).status.code)
        }
    }

    private static func vehicle() throws -> TokenType { .driver(try VehicleID(checking: "veh-3")) }

    @Test(
        arguments: [
            (.unauthenticated, 401, "UNAUTHENTICATED", .unauthenticated),
            (.refused(.driver), 403, "PERMISSION_DENIED", .permissionDenied),
            (
                .limited(RateLimitExceeded(scope: .caller, retryAfter: .seconds(7))), 429, "RESOURCE_EXHAUSTED",
                .rateLimited
            ),
            (.notServed, 501, "UNIMPLEMENTED", .roleNotServed),
            (.failed(.signing), 503, "UNAVAILABLE", .unavailable),
        ] as [(TokenDeskRefusal, Int, String, ProblemKind)])
    func `a refusal has an answer of its kind on each route`(
        refusal: TokenDeskRefusal, status: Int, name: String, kind: ProblemKind
    ) {
        let (error, problem) = (RouteError(refusal), Problem(refusal))
        #expect((error.status.code, error.name) == (status, name))
        #expect((problem.status.code, problem.kind) == (status, kind))
        for (message, retryAfter) in [(error.message, error.retryAfter), (problem.detail, problem.retryAfter)] {
            #expect((message, retryAfter) == (refusal.message, refusal.retryAfter))
        }
    }

    @Test(arguments: [(0, "1"), (400, "1"), (1000, "1"), (1001, "2"), (59_500, "60")])
    func `the time to come again is told in whole seconds, and never too early`(milliseconds: Int, value: String) {
        #expect(RouteError.retryAfterValue(.milliseconds(milliseconds)) == value)
    }

    @Test func `what an authenticator throws is its failure, even a refusal of another desk`() async throws {
        let metrics = TokenServerMetrics()
        let desk = try self.desk(Log(), metrics: metrics) { throw TokenDeskRefusal.refused(.driver) }
        #expect(try await self.request(desk, try Self.vehicle()).1 == 503)
        #expect(metrics.text.contains(#"fleetpass_token_refusals_total{reason="authentication_failed"} 1"#))
    }

    @Test func `a granted token's record tells who got what, and not the token`() async throws {
        let log = Log()
        let (issued, status) = try await self.request(try self.desk(log), try Self.vehicle())
        let token = try #require(issued).token
        #expect(status == 200)
        let record = try #require(log.records.withLock { $0 }.first)
        #expect(record.decision == .granted)
        #expect(record.callerID == CallerID(issuer: "idp", subject: "dora"))
        #expect(record.address == "192.0.2.7")
        #expect(record.rule == "role driver")
        #expect(record.claims.summary == #"{"vehicleid":"veh-3"}"#)
        #expect(record.token?.fingerprint == token.fingerprint)
        let keyID = try Self.key.get().keyID
        #expect(record.token?.keyID == keyID)
        #expect(record.token?.expiresAt == 1_767_228_900)
        let text = String(decoding: record.json.serialized, as: UTF8.self)
        for part in token.compactSerialization.split(separator: ".") { #expect(!text.contains(part)) }
        #expect(AuditEvent(json: text) == .decision(record))
    }

    @Test func `what is given in place of what was refused is what its record tells`() async throws {
        let log = Log()
        let trip = TokenType.consumer(try TripID(checking: "trip-1"))
        _ = try await self.desk(log).issue(
            trip, or: try Self.vehicle(), for: CallerRequest(headers: [:], peerAddress: "192.0.2.7"))
        let record = try #require(log.records.withLock { $0 }.first)
        #expect((record.decision, record.role) == (.granted, .driver))
        #expect(record.claims.summary == #"{"vehicleid":"veh-3"}"#)
    }

    @Test func `what is refused with what might stand for it is recorded as it was asked for, and by whom`()
        async throws
    {
        let log = Log()
        let trip = TokenType.consumer(try TripID(checking: "trip-1"))
        let request = CallerRequest(headers: [:], peerAddress: "192.0.2.7", forwardedAddress: "198.51.100.9")
        await #expect(throws: TokenDeskRefusal.self) {
            try await self.desk(log).issue(trip, or: .deliveryFleetReader, for: request)
        }
        let record = try #require(log.records.withLock { $0.first })
        #expect((record.decision, record.role) == (.refused, .consumer))
        #expect(record.reason == "The caller does not have the role consumer.")
        #expect(record.address == "198.51.100.9")
    }

    @Test func `what could not be signed or recorded takes nothing from its subject's limit`() async throws {
        let limits = RequestLimits(perSubject: try RateLimit(1, per: .seconds(60)))
        let limiter = RequestLimiter(limits, clock: ManualClock())
        func status(signs: Bool = true, isFull: Bool = false) async throws -> Int {
            try await self.request(
                try self.desk(Log(isFull: isFull), signs: signs, limiter: limiter), try Self.vehicle()
            ).1
        }
        for _ in 0..<3 { #expect(try await status(signs: false) == 503) }
        for _ in 0..<3 { #expect(try await status(isFull: true) == 503) }
        #expect(try await status() == 200)
        #expect(try await status() == 429)
    }

    @Test(arguments: ["caller", "subject", "global"])
    func `what a limit turns away is counted and not recorded`(scope: String) async throws {
        let (log, metrics, limit) = (Log(), TokenServerMetrics(), try RateLimit(1, per: .seconds(60)))
        let limits = RequestLimits(
            perCaller: scope == "caller" ? limit : nil, perSubject: scope == "subject" ? limit : nil,
            global: scope == "global" ? limit : nil)
        let desk = try self.desk(log, metrics: metrics, limiter: RequestLimiter(limits, clock: ManualClock()))
        #expect(try await self.request(desk, try Self.vehicle()).1 == 200)
        for _ in 0..<2 { #expect(try await self.request(desk, try Self.vehicle()).1 == 429) }
        #expect(log.records.withLock { $0.map(\.decision) } == [.granted])
        #expect(metrics.text.contains(#"fleetpass_token_refusals_total{reason="limit_\#(scope)"} 2"#))
    }

    @Test func `no token leaves without its record`() async throws {
        let metrics = TokenServerMetrics()
        let (issued, status) = try await self.request(
            try self.desk(Log(isFull: true), metrics: metrics), try Self.vehicle())
        #expect(issued == nil)
        #expect(status == 503)
        #expect(metrics.text.contains(#"fleetpass_token_refusals_total{reason="audit_failed"} 1"#))
    }

    @Test func `what a known caller does not get is recorded with the reason`() async throws {
        let log = Log()
        let trip = TokenType.consumer(try TripID(checking: "trip-1"))
        #expect(try await self.request(try self.desk(log), trip).1 == 403)
        #expect(try await self.request(try self.desk(log, signs: false), try Self.vehicle()).1 == 503)
        let records = log.records.withLock { $0 }
        #expect(records.map(\.decision) == [.refused, .refused])
        #expect(records.map(\.reason) == ["The caller does not have the role consumer.", "signing_failed"])
        #expect(records.allSatisfy { $0.token == nil })
    }

    @Test func `a role that is granted and not served is answered and recorded as such`() async throws {
        let (log, metrics) = (Log(), TokenServerMetrics())
        let caller = Caller(name: "app", issuer: "static", roles: [.consumer])
        let desk = try self.desk(log, metrics: metrics) { caller }
        #expect(try await self.request(desk, .consumer(try TripID(checking: "trip-1"))).1 == 501)
        #expect(log.records.withLock { $0.map(\.reason) } == ["role_not_served"])
        #expect(metrics.text.contains(#"fleetpass_token_refusals_total{reason="role_not_served"} 1"#))
    }

    /// Counts how often it is asked.
    struct CountingPolicy: TokenPolicy {
        let count = Locked(0)

        func decide(_ type: TokenType, for caller: Caller, at time: Date) async throws -> PolicyDecision {
            self.count.withLock { $0 += 1 }
            return try await RolePolicy().decide(type, for: caller, at: time)
        }
    }

    @Test func `who is refused again and again is neither decided on nor recorded until the time to come again`()
        async throws
    {
        let (log, metrics, policy, clock) = (Log(), TokenServerMetrics(), CountingPolicy(), ManualClock())
        let limiter = RequestLimiter(
            RequestLimits(refusedPerCaller: try RateLimit(3, per: .seconds(60))), clock: clock)
        let caller = Locked(Self.driver)
        let desk = try self.desk(log, metrics: metrics, policy: policy, limiter: limiter) {
            caller.withLock { $0 }
        }
        let (own, others) = (try Self.vehicle(), TokenType.consumer(try TripID(checking: "trip-1")))
        func asked() -> [Int] { [policy.count.withLock { $0 }, log.records.withLock { $0.count }] }
        // What is granted counts for nothing.
        for _ in 0..<10 { #expect(try await self.request(desk, own).1 == 200) }
        for _ in 0..<3 { #expect(try await self.request(desk, others).1 == 403) }
        for type in [others, own] {
            let error = await #expect(throws: TokenDeskRefusal.self) {
                try await desk.issue(type, for: CallerRequest(headers: [:], peerAddress: "192.0.2.7"))
            }
            #expect(error?.code == .limited)
            #expect(error?.retryAfter == .seconds(20))
        }
        #expect(asked() == [13, 13])
        #expect(metrics.text.contains(#"fleetpass_token_refusals_total{reason="limit_refusals"} 2"#))
        caller.withLock { $0 = Caller(name: "app", subject: "dirk", issuer: "idp", roles: [.driver]) }
        #expect(try await self.request(desk, own).1 == 200)
        caller.withLock { $0 = Self.driver }
        clock.advance(by: .seconds(20))
        #expect(try await self.request(desk, own).1 == 200)
        #expect(asked() == [15, 15])
    }

    /// Decides, or cannot.
    struct FailingPolicy: TokenPolicy {
        struct Down: Error {}
        let isDown = Locked(true)

        func decide(_ type: TokenType, for caller: Caller, at time: Date) async throws -> PolicyDecision {
            if self.isDown.withLock({ $0 }) { throw Down() }
            return try await RolePolicy().decide(type, for: caller, at: time)
        }
    }

    @Test func `who asks through an outage fills no audit, and is served right after it`() async throws {
        let (log, metrics, policy, clock) = (Log(), TokenServerMetrics(), FailingPolicy(), ManualClock())
        let limiter = RequestLimiter(
            RequestLimits(refusedPerCaller: try RateLimit(3, per: .seconds(60))), clock: clock)
        let desk = try self.desk(log, metrics: metrics, policy: policy, limiter: limiter)
        let others = TokenType.consumer(try TripID(checking: "trip-1"))
        func reasons() -> [String?] { log.records.withLock { $0.map(\.reason) } }
        for _ in 0..<10 { #expect(try await self.request(desk, try Self.vehicle()).1 == 503) }
        #expect(reasons() == ["policy_failed", "policy_failed", "policy_failed"])
        #expect(metrics.text.contains(#"fleetpass_token_refusals_total{reason="policy_failed"} 10"#))
        clock.advance(by: .seconds(20))
        for _ in 0..<2 { #expect(try await self.request(desk, try Self.vehicle()).1 == 503) }
        #expect(reasons().count == 4)

        policy.isDown.withLock { $0 = false }
        #expect(try await self.request(desk, try Self.vehicle()).1 == 200)
        // What the policy refuses counts by itself.
        for status in [403, 403, 403, 429] { #expect(try await self.request(desk, others).1 == status) }
        #expect(reasons().count == 8)
    }

    @Test func `what cannot be signed is recorded no more often than what is refused`() async throws {
        let log = Log()
        let limiter = RequestLimiter(
            RequestLimits(refusedPerCaller: try RateLimit(3, per: .seconds(60))), clock: ManualClock())
        let desk = try self.desk(log, signs: false, limiter: limiter)
        for _ in 0..<10 { #expect(try await self.request(desk, try Self.vehicle()).1 == 503) }
        #expect(log.records.withLock { $0.map(\.reason) } == ["signing_failed", "signing_failed", "signing_failed"])
    }

    /// Grants once; time may pass before it answers.
    struct EndingShift: TokenPolicy {
        var clock = Locked(TokenDeskTests.now)
        var passes: TimeInterval = 0
        let answers = Locked([PolicyDecision.granted(rule: "shift"), .refused(rule: nil, reason: "The shift is over.")])
        let times = Locked<[Date]>([])

        func decide(_ type: TokenType, for caller: Caller, at time: Date) async throws -> PolicyDecision {
            self.times.withLock { $0.append(time) }
            self.clock.withLock { $0 += self.passes }
            return self.answers.withLock { $0.removeFirst() }
        }
    }

    @Test(arguments: [(0.05, 200), (1, 403), (-1, 403)])
    func `what the policy takes back while a token is signed for long is not handed out`(
        passes: TimeInterval, expected: Int
    ) async throws {
        let (log, clock, policy) = (Log(), Locked(Self.now), EndingShift())
        let desk = try self.desk(log, policy: policy, clock: clock, signingTakes: passes)
        let (issued, status) = try await self.request(desk, try Self.vehicle())
        #expect(status == expected)
        #expect((issued == nil) == (expected == 403))
        let records = log.records.withLock { $0 }
        #expect(records.map(\.decision) == (expected == 403 ? [.granted, .refused] : [.granted]))
        #expect(records.last?.reason == (expected == 403 ? "The shift is over." : nil))
        #expect(expected == 200 || records.last?.token == nil)
        let times = expected == 403 ? [Self.now, Self.now + passes] : [Self.now]
        #expect(policy.times.withLock { $0 } == times)
        #expect(records.map(\.time) == times.map { Int64($0.timeIntervalSince1970 * 1000) })
    }

    @Test(arguments: [(0.05, 200), (6, 403)])
    func `what ends while the policy takes long is not handed out`(passes: TimeInterval, expected: Int) async throws {
        let (log, clock) = (Log(), Locked(Self.now))
        let desk = try self.desk(log, policy: EndingShift(clock: clock, passes: passes), clock: clock)
        #expect(try await self.request(desk, try Self.vehicle()).1 == expected)
        let records = log.records.withLock { $0 }
        #expect(records.map(\.decision) == (expected == 403 ? [.granted, .refused] : [.granted]))
        #expect(records.last?.reason == (expected == 403 ? "The shift is over." : nil))
    }

    @Test(arguments: [(0.05, 200), (1, 403)])
    func `what ends while it takes long to find out who asks is not handed out`(
        passes: TimeInterval, expected: Int
    ) async throws {
        let clock = Locked(Self.now)
        let desk = try self.desk(Log(), policy: EndingShift(), clock: clock) {
            clock.withLock { $0 += passes }
            return Self.driver
        }
        #expect(try await self.request(desk, try Self.vehicle()).1 == expected)
    }

    @Test(
        arguments: [
            (.success(nil), 401), (.failure(CallerRefusal(.expired, "Too late.")), 401),
            (.success(Caller(name: "app", subject: "eve", issuer: "idp", roles: [.driver])), 401),
            (.success(Caller(name: "app", subject: "dora", issuer: "idp")), 403), (.success(Self.driver), 200),
        ] as [(Result<Caller?, CallerRefusal>, Int)])
    func `who asks is found out again where it took long`(
        later: Result<Caller?, CallerRefusal>, expected: Int
    ) async throws {
        let (log, answers) = (Log(), Locked([.success(Self.driver), later]))
        let desk = try self.desk(log, signingTakes: 1) { try answers.withLock { $0.removeFirst() }.get() }
        #expect(try await self.request(desk, try Self.vehicle()).1 == expected)
        let records = log.records.withLock { $0 }
        #expect(records.map(\.decision) == (expected == 200 ? [.granted] : [.granted, .refused]))
        #expect(expected != 401 || records.last?.reason == "The caller is not known any more.")
        #expect(expected == 200 || records.last?.token == nil)
    }

    /// Grants once, and fails then.
    struct FailingShift: TokenPolicy {
        struct Down: Error {}

        let hasGranted = Locked(false)

        func decide(_ type: TokenType, for caller: Caller, at time: Date) async throws -> PolicyDecision {
            let isFirst = self.hasGranted.withLock { hasGranted in
                defer { hasGranted = true }
                return !hasGranted
            }
            guard isFirst else { throw Down() }
            return .granted(rule: "shift")
        }
    }

    @Test func `a token that is not handed out after all is recorded so however often its caller was refused`()
        async throws
    {
        let (log, clock) = (Log(), Locked(Self.now))
        let limiter = RequestLimiter(
            RequestLimits(refusedPerCaller: try RateLimit(1, per: .seconds(60))), clock: ManualClock())
        let desk = try self.desk(log, policy: FailingShift(), limiter: limiter, clock: clock, signingTakes: 1)
        #expect(limiter.admitsFailureRecord(of: Self.driver.id))
        #expect(!limiter.admitsFailureRecord(of: Self.driver.id))
        #expect(try await self.request(desk, try Self.vehicle()).1 == 503)
        #expect(log.records.withLock { $0 }.map(\.decision) == [.granted, .refused])
    }

    @Test func `strangers are counted by reason and not recorded`() async throws {
        struct Down: Error {}
        let (log, metrics) = (Log(), TokenServerMetrics())
        let doors: [(@Sendable () throws -> Caller?, Int)] = [
            ({ nil }, 401), ({ throw CallerRefusal(.expired, "Too late.") }, 401), ({ throw Down() }, 503),
        ]
        for (door, status) in doors {
            #expect(
                try await self.request(try self.desk(log, metrics: metrics, door: door), try Self.vehicle()).1 == status
            )
        }
        #expect(log.records.withLock { $0 }.isEmpty)
        for reason in ["caller_absent", "caller_expired", "authentication_failed"] {
            #expect(metrics.text.contains(#"fleetpass_token_refusals_total{reason="\#(reason)"} 1"#))
        }
    }

    @Test func `strangers are logged with what they sent, and no more often than every ten seconds for each kind`()
        async throws
    {
        let (lines, clock) = (LeakTests.Log(), Locked(Self.now))
        let desk = try self.desk(
            Log(), clock: clock, logger: Logger(label: "test") { _ in LeakTests.Handler(log: lines) },
            door: { nil })
        let token = try IdentityProvider.token(
            ["iss": .string("https://login.example/\n")], key: .ed25519(.init()))
        func ask(_ bearer: String?) async {
            let request = CallerRequest(
                headers: bearer.map { [.authorization: "Bearer \($0)"] } ?? [:], peerAddress: "192.0.2.7")
            await #expect(throws: TokenDeskRefusal.self) { try await desk.issue(try Self.vehicle(), for: request) }
        }
        func told(_ words: String) -> Int { lines.contents.split(separator: "\n").count { $0.contains(words) } }
        for _ in 0..<100 {
            for bearer in [token, "a-secret-of-somebody-else", nil] { await ask(bearer) }
        }
        #expect(told("info caller refused") == 3)
        for words in ["https://login.example/?", "is of no issuer", "is nobody's", "No credential"] {
            #expect(told(words) == 1, "\(words)")
        }
        #expect(told("192.0.2.7") == 3)
        clock.withLock { $0 += 10 }
        await ask(token)
        #expect(told("info caller refused") == 4)
        #expect(told(#""times": 100"#) == 1)
        for secret in [String(token.suffix(16)), "a-secret-of-somebody-else"] {
            #expect(!lines.contents.contains(secret))
        }
    }

    @Test func `a certificate that is nobody's is told with what it could be known by`() async throws {
        let lines = LeakTests.Log()
        let desk = try self.desk(
            Log(), clock: Locked(Self.now), logger: Logger(label: "test") { _ in LeakTests.Handler(log: lines) },
            door: { nil })
        let certificate = ClientCertificate(
            uris: ["spiffe://acme/\n"], dnsNames: ["dispatch.acme"], subject: "CN=dispatch,O=Acme",
            fingerprint: String(repeating: "ab", count: 32))
        let request = CallerRequest(headers: [:], peerAddress: "192.0.2.7", clientCertificate: certificate)
        await #expect(throws: TokenDeskRefusal.self) { try await desk.issue(try Self.vehicle(), for: request) }
        let expected =
            "The client's certificate is nobody's: subject CN=dispatch,O=Acme, uri spiffe://acme/?, dns_name dispatch.acme, "
            + "fingerprint abab"
        #expect(lines.contents.contains(expected), "\(lines.contents)")
        #expect(!lines.contents.contains("No credential was sent"))
    }

    @Test func `what is wrong with credentials is logged no more often than every ten seconds for each reason`()
        async throws
    {
        let (lines, clock, reason) = (LeakTests.Log(), Locked(Self.now), Locked(CallerRefusal.Reason.signature))
        let desk = try self.desk(
            Log(), clock: clock, logger: Logger(label: "test") { _ in LeakTests.Handler(log: lines) },
            door: { throw CallerRefusal(reason.withLock { $0 }, "It does not hold.") })
        func told(_ words: String) -> Int { lines.contents.split(separator: "\n").count { $0.contains(words) } }
        for _ in 0..<100 { #expect(try await self.request(desk, try Self.vehicle()).1 == 401) }
        #expect(told("info caller refused") == 1)
        #expect(told("signature: It does not hold.") == 1)
        #expect(told("192.0.2.7") == 1)
        reason.withLock { $0 = .expired }
        #expect(try await self.request(desk, try Self.vehicle()).1 == 401)
        #expect(told("expired: It does not hold.") == 1)
        reason.withLock { $0 = .signature }
        clock.withLock { $0 += 10 }
        #expect(try await self.request(desk, try Self.vehicle()).1 == 401)
        #expect(told("info caller refused") == 3)
        #expect(told(#""times": 100"#) == 1)
    }

    @Test func `what is down is logged for each step, and no more often than every ten seconds`() async throws {
        let (lines, clock, policy) = (LeakTests.Log(), Locked(Self.now), FailingPolicy())
        let logger = Logger(label: "test") { _ in LeakTests.Handler(log: lines) }
        let desk = try self.desk(Log(isFull: true), signs: false, policy: policy, clock: clock, logger: logger)
        func told(_ words: String) -> Int { lines.contents.split(separator: "\n").count { $0.contains(words) } }
        for isDown in [true, false] {
            policy.isDown.withLock { $0 = isDown }
            for _ in 0..<10 { #expect(try await self.request(desk, try Self.vehicle()).1 == 503) }
        }
        #expect(told("error token not issued") == 3)
        for step in ["policy_failed", "signing_failed", "audit_failed"] { #expect(told(step) == 1, "\(step)") }
        clock.withLock { $0 += 10 }
        #expect(try await self.request(desk, try Self.vehicle()).1 == 503)
        #expect(told("error token not issued") == 5)
        #expect(told(#""times": 10"#) == 1)
        #expect(told(#""times": 20"#) == 1)
    }

    @Test func `metrics are counted by role and outcome, and no id is a label`() async throws {
        let metrics = TokenServerMetrics()
        let desk = try self.desk(Log(), metrics: metrics)
        for _ in 0..<3 { _ = try await self.request(desk, try Self.vehicle()) }
        _ = try await self.request(desk, .custom(Role(rawValue: "made-up"), try Self.vehicle().claims))
        let text = metrics.text
        #expect(text.contains(#"fleetpass_token_requests_total{role="driver",outcome="granted"} 3"#))
        #expect(text.contains(#"fleetpass_token_requests_total{role="other",outcome="refused"} 1"#))
        #expect(text.contains(#"fleetpass_token_request_duration_seconds_count{outcome="granted"} 3"#))
        #expect(text.contains(#"fleetpass_token_request_duration_seconds_bucket{outcome="granted",le="+Inf"} 3"#))
        // The desk hears of a request behind its body.
        let help = "How long a request for a token took, from when it was there as a whole to the answer."
        #expect(text.contains("# HELP fleetpass_token_request_duration_seconds \(help)\n"))
        for secret in ["veh-3", "dora", "app", "made-up", "192.0.2.7"] { #expect(!text.contains("\"\(secret)\"")) }
    }
}

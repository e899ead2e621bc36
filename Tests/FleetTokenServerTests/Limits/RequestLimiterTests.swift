// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTestSupport
import FleetTokens
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import Testing

@testable import FleetTokenServer

@Suite struct RequestLimiterTests {
    static let ann = CallerID(issuer: "acme", subject: "ann")
    static let bob = CallerID(issuer: "acme", subject: "bob")

    private static func refusal(_ body: () throws(RateLimitExceeded) -> Void) -> RateLimitExceeded? {
        do throws(RateLimitExceeded) {
            try body()
            return nil
        } catch { return error }
    }

    @Test func `a burst is admitted, then an even rate`() throws {
        let clock = ManualClock()
        let limiter = RequestLimiter(
            RequestLimits(perCaller: try RateLimit(6, per: .seconds(60), burst: 3)), clock: clock)
        for _ in 0..<3 { #expect(Self.refusal { () throws(RateLimitExceeded) in try limiter.admit(Self.ann) } == nil) }
        let first = Self.refusal { () throws(RateLimitExceeded) in try limiter.admit(Self.ann) }
        #expect(first == RateLimitExceeded(scope: .caller, retryAfter: .seconds(10)))
        clock.advance(by: .milliseconds(9999))
        let second = Self.refusal { () throws(RateLimitExceeded) in try limiter.admit(Self.ann) }
        #expect(second?.retryAfter == .milliseconds(1), "a refused request costs nothing")
        clock.advance(by: .milliseconds(1))
        #expect(Self.refusal { () throws(RateLimitExceeded) in try limiter.admit(Self.ann) } == nil)
        #expect(Self.refusal { () throws(RateLimitExceeded) in try limiter.admit(Self.ann) } != nil)
        clock.advance(by: .seconds(86400))
        for _ in 0..<3 { #expect(Self.refusal { () throws(RateLimitExceeded) in try limiter.admit(Self.ann) } == nil) }
        #expect(Self.refusal { () throws(RateLimitExceeded) in try limiter.admit(Self.ann) } != nil)
    }

    @Test func `one who asks too often takes nothing from the others`() throws {
        let clock = ManualClock()
        let limiter = RequestLimiter(
            RequestLimits(
                perCaller: try RateLimit(5, per: .seconds(60)), global: try RateLimit(10, per: .seconds(60))),
            clock: clock)
        for _ in 0..<1000 { _ = Self.refusal { () throws(RateLimitExceeded) in try limiter.admit(Self.ann) } }
        for _ in 0..<5 { #expect(Self.refusal { () throws(RateLimitExceeded) in try limiter.admit(Self.bob) } == nil) }
        let other = CallerID(issuer: "partner", subject: "ann")
        let refusal = Self.refusal { () throws(RateLimitExceeded) in try limiter.admit(other) }
        #expect(refusal == RateLimitExceeded(scope: .global, retryAfter: .seconds(6)))
        // What all callers' limit turned away takes nothing from the caller's own.
        for _ in 0..<9 { _ = Self.refusal { () throws(RateLimitExceeded) in try limiter.admit(other) } }
        clock.advance(by: .seconds(6))
        #expect(Self.refusal { () throws(RateLimitExceeded) in try limiter.admit(other) } == nil)
    }

    @Test func `who is refused too often is turned away for a while, and nobody else`() throws {
        let clock = ManualClock()
        let limiter = RequestLimiter(
            RequestLimits(
                global: try RateLimit(3, per: .seconds(60)), refusedPerCaller: try RateLimit(2, per: .seconds(60))),
            clock: clock)
        for _ in 0..<2 { limiter.noteRefusal(of: Self.ann) }
        for _ in 0..<1000 {
            let refusal = Self.refusal { () throws(RateLimitExceeded) in try limiter.admit(Self.ann) }
            #expect(refusal == RateLimitExceeded(scope: .refusals, retryAfter: .seconds(30)))
        }
        // What is turned away takes nothing from all callers' limit.
        for _ in 0..<3 { #expect(Self.refusal { () throws(RateLimitExceeded) in try limiter.admit(Self.bob) } == nil) }
        clock.advance(by: .seconds(30))
        #expect(Self.refusal { () throws(RateLimitExceeded) in try limiter.admit(Self.ann) } == nil)
        limiter.noteRefusal(of: Self.ann)
        let refusal = Self.refusal { () throws(RateLimitExceeded) in try limiter.admit(Self.ann) }
        #expect(refusal?.scope == .refusals)
    }

    @Test func `a subject's limit counts whoever asks, and tells subjects and roles apart`() throws {
        let limiter = RequestLimiter(
            RequestLimits(perSubject: try RateLimit(1, per: .seconds(60))), clock: ManualClock())
        let vehicle = TokenType.driver(try VehicleID(checking: "a"))
        #expect(Self.refusal { () throws(RateLimitExceeded) in try limiter.admit(vehicle) } == nil)
        #expect(Self.refusal { () throws(RateLimitExceeded) in try limiter.admit(vehicle) }?.scope == .subject)
        for other in [
            TokenType.driver(try VehicleID(checking: "b")), .consumer(try TripID(checking: "a")),
            .deliveryUntrustedDriver(try DeliveryVehicleID(checking: "a")),
            .deliveryTrustedDriver(try DeliveryVehicleID(checking: "a"), task: nil),
            .custom(.server, try vehicle.claims),
        ] { #expect(Self.refusal { () throws(RateLimitExceeded) in try limiter.admit(other) } == nil) }
    }

    @Test func `another task of a vehicle is no other subject, and everything of a kind is none`() throws {
        let limiter = RequestLimiter(
            RequestLimits(perSubject: try RateLimit(1, per: .seconds(60))), clock: ManualClock())
        func refusal(of type: TokenType) -> RateLimitExceeded? {
            Self.refusal { () throws(RateLimitExceeded) in try limiter.admit(type) }
        }
        let vehicle = try DeliveryVehicleID(checking: "a")
        #expect(refusal(of: .deliveryTrustedDriver(vehicle, task: try TaskID(checking: "1"))) == nil)
        for task in ["1", "2"] {
            #expect(
                refusal(of: .deliveryTrustedDriver(vehicle, task: try TaskID(checking: task)))?.scope == .subject)
        }
        #expect(
            refusal(of: .deliveryTrustedDriver(try DeliveryVehicleID(checking: "b"), task: try TaskID(checking: "2")))
                == nil)
        for _ in 0..<3 { #expect(refusal(of: .deliveryFleetReader) == nil) }
    }

    @Test(arguments: [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1_000_001, 1, 1), (1, 86401, 1), (1, 1, 1_000_001)])
    func `a limit that is none is an error`(count: Int, seconds: Int, burst: Int) {
        #expect(throws: TokenServerError.self) { try RateLimit(count, per: .seconds(seconds), burst: burst) }
    }

    // MARK: - Over HTTP

    @Test func `beyond a limit the answer is 429 with the time to come again`() async throws {
        let keys = try TokenRoutesTests.keys.get()
        let router = Router(context: CallerRequestContext.self)
        let limiter = RequestLimiter(
            RequestLimits(
                perCaller: try RateLimit(3, per: .seconds(100)), perSubject: try RateLimit(2, per: .seconds(10))),
            clock: ManualClock())
        TokenRoutes(
            desk: TokenDesk(
                issuer: TokenIssuer(minters: try keys.mapValues { TokenMinter(signer: try LocalSigner($0)) }),
                authenticator: OpenAuthenticator(), limiter: limiter, logger: Logger(label: "test")),
            publishedKeys: { [] }
        ).add(to: router)
        try await Application(router: router).test(.router) { client in
            for (status, retryAfter) in [(200, nil), (200, nil), (429, "5"), (429, "34")] {
                try await client.execute(uri: "/token/driver/veh-1", method: .get) { answer in
                    #expect(answer.status.code == status)
                    #expect(answer.headers[.retryAfter] == retryAfter)
                    guard status == 429 else { return }
                    let error = try JSONValue(parsing: Array(answer.body.readableBytesView)).object?["error"]?.object
                    #expect(error?["status"] == .string("RESOURCE_EXHAUSTED"))
                    #expect(error?["code"] == .integer(429))
                    #expect(answer.headers[.cacheControl] == "no-store")
                }
            }
        }
    }
}

@Suite struct AllowedOriginsMiddlewareTests {
    private static let origin = "https://tracking.example"

    private static func answer(
        origin: String?, method: HTTPRequest.Method = .get, path: String = "/token/driver/veh-1"
    ) async throws -> TestResponse {
        let router = Router(context: CallerRequestContext.self)
        router.add(middleware: try AllowedOriginsMiddleware(origins: [Self.origin]))
        router.get("/token/**") { _, _ in "ok" }
        router.get("/refused") { _, _ -> String in throw RouteError(.unauthenticated) }
        var headers = HTTPFields()
        headers[.origin] = origin
        if method == .options { headers[.accessControlRequestMethod] = "GET" }
        return try await Application(router: router).test(.router) { [headers] client in
            try await client.execute(uri: path, method: method, headers: headers)
        }
    }

    @Test func `a listed origin may read answers and refusals, without credentials mode`() async throws {
        for path in ["/token/driver/veh-1", "/refused", "/nowhere"] {
            let answer = try await Self.answer(origin: Self.origin, path: path)
            #expect(answer.headers[.accessControlAllowOrigin] == Self.origin, "\(path)")
            #expect(answer.headers[.accessControlAllowCredentials] == nil)
            #expect(answer.headers[.vary] == "Origin")
        }
        let preflight = try await Self.answer(origin: Self.origin, method: .options)
        #expect(preflight.status == .noContent)
        #expect(preflight.headers[.accessControlAllowHeaders]?.contains("authorization") == true)
        #expect(preflight.headers[.accessControlAllowCredentials] == nil)
    }

    @Test(arguments: [
        "https://evil.example", "http://tracking.example", "https://tracking.example.evil.example", "null", "*",
        "https://tracking.example:443", "HTTPS://tracking.example",
    ])
    func `any other origin gets no permission`(origin: String) async throws {
        let answer = try await Self.answer(origin: origin)
        #expect(answer.headers[.accessControlAllowOrigin] == nil)
        #expect(answer.headers[.vary] == "Origin")
        let preflight = try await Self.answer(origin: origin, method: .options)
        #expect(preflight.status == .forbidden)
        #expect(preflight.headers[.accessControlAllowOrigin] == nil)
    }

    @Test func `without an origin nothing but Vary is added`() async throws {
        let answer = try await Self.answer(origin: nil)
        #expect(answer.status == .ok)
        #expect(answer.headers[.accessControlAllowOrigin] == nil)
        #expect(answer.headers[.vary] == "Origin")
    }

    /// Only the question of a browser is one, and what merely looks like it is a request like others.
    @Test(arguments: [(.get, "GET"), (.options, nil)] as [(HTTPRequest.Method, String?)])
    func `a request that is no browser's question goes on to its route`(
        method: HTTPRequest.Method, asked: String?
    ) async throws {
        let router = Router(context: CallerRequestContext.self)
        router.add(middleware: try AllowedOriginsMiddleware(origins: [Self.origin]))
        router.on("/token", method: method) { _, _ in "ok" }
        var headers: HTTPFields = [.origin: Self.origin]
        headers[.accessControlRequestMethod] = asked
        let answer = try await Application(router: router).test(.router) { [headers] client in
            try await client.execute(uri: "/token", method: method, headers: headers)
        }
        #expect(answer.status == .ok)
        #expect(answer.headers[.accessControlAllowMethods] == nil)
    }

    @Test(arguments: [
        "*", "null", "", "https://*.example", "https://a.example/", "https://a.example/x", "http://a.example",
        "https://A.example", "https://u@a.example", "https://a.example?x", "https://a.example:443",
    ])
    func `what is no single origin cannot be allowed`(origin: String) {
        #expect(throws: TokenServerError.self) {
            try AllowedOriginsMiddleware<CallerRequestContext>(origins: [origin])
        }
    }
}

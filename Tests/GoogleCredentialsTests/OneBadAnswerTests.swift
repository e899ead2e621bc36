// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTestSupport
import FleetTokens
import Foundation
import Testing

@testable import GoogleCredentials

@Suite struct OneBadAnswerTests {
    /// What an upstream does while it is ill.
    enum Illness: String, CaseIterable, Sendable {
        case refusing, failing, limiting, torn, empty, noToken, endedToken, unreachable, redirecting, poisoned

        func response() throws -> UpstreamResponse {
            switch self {
            case .refusing: .json(["error": "invalid_grant"], status: 400)
            case .failing: UpstreamResponse(status: 503)
            case .limiting: UpstreamResponse(status: 429, headers: [("Retry-After", "1")])
            case .torn: UpstreamResponse(status: 200, body: Array(#"{"access_token":"MARK"#.utf8))
            case .empty: UpstreamResponse(status: 200)
            case .noToken: .json(["expires_in": .integer(3600)])
            case .endedToken: .json(["access_token": "MARKED", "expires_in": .integer(0)])
            case .unreachable: throw CredentialError(code: .unavailable, message: "down")
            case .redirecting: UpstreamResponse(status: 302, headers: [("Location", "https://evil.example/")])
            case .poisoned: .json(["access_token": "MARKED\r\nx-evil: 1", "expires_in": .integer(3600)])
            }
        }
    }

    @Test(arguments: Illness.allCases, [1, 60, 3_700, 90_000])
    func `a token is served while it lasts, and recovery is noticed within one pause`(
        illness: Illness, seconds: Int
    ) async throws {
        let world = World()
        let credential = try await world.load(Files.user)
        _ = try await credential.accessToken(scopes: [])
        let firstEnds = 3600.0
        // The illness begins when the token is due for renewal.
        world.clock.advance(by: .seconds(3400))
        world.network.answer { _, _ in try illness.response() }
        let begin = world.clock.elapsed
        while world.clock.elapsed - begin < Double(seconds) {
            let result = await Result { try await credential.accessToken(scopes: []) }
            if world.clock.elapsed < firstEnds {
                #expect(throws: Never.self) { try result.get() }
            } else {
                #expect(throws: CredentialError.self) { try result.get() }
            }
            await Self.settle()
            world.clock.advance(by: .seconds(min(seconds, max(7, seconds / 50))))
        }
        world.network.answer(Google.answer)
        // The longest pause between attempts.
        world.clock.advance(by: .seconds(10))
        await #expect(throws: Never.self) { try await credential.accessToken(scopes: []) }
        await Self.settle()
        let before = world.network.requests.count
        await #expect(throws: Never.self) { try await credential.accessToken(scopes: []) }
        #expect(world.network.requests.count == before, "the new token is remembered")
    }

    /// Each part has pauses of its own, whose lengths are left to chance.
    @Test(arguments: [false, true], UInt64(1)...20)
    func `credentials that are made from others recover within one pause, too`(
        isExternal: Bool, seed: UInt64
    ) async throws {
        var world = World(StandIn { _, _ in UpstreamResponse(status: 503) })
        let chance = Locked(SeededGenerator(seed: seed))
        world.random = { chance.withLock { Double.random(in: 0..<1, using: &$0) } }
        world.files["/subject"] = Array("MARKED-subject".utf8)
        let external = Files.external(
            ["file": "/subject"], ["service_account_impersonation_url": .string(Files.impersonationURL)])
        let credential = try await world.load(isExternal ? external : Files.impersonated)
        for _ in 0..<(60 + seed) {
            await #expect(throws: CredentialError.self) { try await credential.accessToken(scopes: [Files.scope]) }
            world.clock.advance(by: .seconds(1))
        }
        world.network.answer(Google.answer)
        let begin = world.clock.elapsed
        while await Result({ try await credential.accessToken(scopes: [Files.scope]) }).isFailure {
            world.clock.advance(by: .milliseconds(500))
            try #require(world.clock.elapsed - begin <= 10, "not within the longest pause")
        }
    }

    /// Lets background refreshes, which only wait for the stand-in, come to their end.
    private static func settle() async {
        for _ in 0..<20 { await Task.yield() }
    }

    @Test func `attempts are bounded while nothing works`() async throws {
        let world = World(StandIn { _, _ in UpstreamResponse(status: 403) })
        let credential = try await world.load(Files.user)
        for _ in 0..<600 {
            _ = try? await credential.accessToken(scopes: [])
            world.clock.advance(by: .seconds(1))
        }
        // With no jitter a pause is half its bound: 0.5, 1, 2, 4 and then 5 s each.
        #expect((110...140).contains(world.network.requests.count))
    }

    @Test func `a transient error is tried again within a call, a refusal is not`() async throws {
        var world = World(
            StandIn { request, index in
                index < 2 ? UpstreamResponse(status: 503) : try await Google.answer(request, index)
            })
        world.retries = RetryPolicy(attempts: 3)
        let credential = try await world.load(Files.user)
        #expect(try await credential.accessToken(scopes: []).value == "MARKED-access")
        #expect(world.network.requests.count == 3)

        var refused = World(StandIn { _, _ in .json(["error": "invalid_grant"], status: 400) })
        refused.retries = RetryPolicy(attempts: 3)
        let other = try await refused.load(Files.user)
        let error = await #expect(throws: CredentialError.self) { try await other.accessToken(scopes: []) }
        #expect(error?.code == .refused)
        #expect(error?.message.contains("400 (invalid_grant)") == true)
        #expect(refused.network.requests.count == 1)
    }

    @Test(arguments: [
        ("error", "server_error"), ("error", "temporarily_unavailable"), ("error_description", "internal_failure"),
    ])
    func `a failure that OAuth says will pass is tried again, whatever the status`(
        member: String, word: String
    ) async throws {
        var world = World(
            StandIn { request, index in
                guard index < 2 else { return try await Google.answer(request, index) }
                var body: JSONObject = ["error": "invalid_request"]
                body[member] = .string(word)
                return .json(body, status: 400)
            })
        let credential = try await world.load(Files.user)
        let error = await #expect(throws: CredentialError.self) { try await credential.accessToken(scopes: []) }
        #expect(error?.code == .unavailable)
        #expect(error?.description.contains(word) == (member == "error"), "a description may hold anything")
        world.retries = RetryPolicy(attempts: 2)
        #expect(try await world.load(Files.user).accessToken(scopes: []).value == "MARKED-access")
    }

    @Test(arguments: [
        (408, true), (429, true), (500, true), (503, true), (400, false), (401, false), (404, false), (499, false),
    ])
    func `what may pass is told by its status from what does not`(status: Int, mayPass: Bool) async throws {
        let world = World(StandIn { _, _ in UpstreamResponse(status: status) })
        let credential = try await world.load(Files.user)
        let error = await #expect(throws: CredentialError.self) { try await credential.accessToken(scopes: []) }
        #expect(error?.code == (mayPass ? .unavailable : .refused))
        #expect(error?.isTransient == mayPass)
    }

    @Test func `Retry-After is kept to, or the call given up when it goes past the limit`() async throws {
        let patient = RetryPolicy(attempts: 3, limit: .seconds(60))
        #expect(patient.pause(afterFailures: 1, retryAfter: .seconds(30), random: 0.5) >= .seconds(30))
        #expect(patient.pause(afterFailures: 40, retryAfter: nil, random: 1) == patient.longestPause)
        var world = World(StandIn { _, _ in UpstreamResponse(status: 429, headers: [("retry-after", "61")]) })
        world.retries = patient
        let credential = try await world.load(Files.user)
        let error = await #expect(throws: CredentialError.self) { try await credential.accessToken(scopes: []) }
        #expect(error?.retryAfter == .seconds(61))
        #expect(world.network.requests.count == 1)
    }

    @Test(arguments: [("Sun, 06 Nov 1994 08:49:37 GMT", 0), ("Thu, 01 Jan 2026 00:00:40 GMT", 40)])
    func `Retry-After as a date counts from this machine's clock`(date: String, seconds: Int) async throws {
        try await self.expectWait(date, server: nil, seconds: seconds)
    }

    @Test func `Retry-After as a date counts from the server's own clock where it tells it`() async throws {
        try await self.expectWait(
            "Fri, 02 Jan 2026 10:00:30 GMT", server: "Fri, 02 Jan 2026 10:00:00 GMT", seconds: 30)
    }

    @Test(arguments: [
        ("60", 60), ("60, 7", 60), ("7,60", 60), (" 60\t", 60), ("99999999999999999999", 86_400), ("+60", nil),
        ("-60", nil), ("6 0", nil), ("60.5", nil),
    ])
    func `Retry-After in seconds is digits alone, and the longest of several counts`(
        text: String, seconds: Int?
    ) async throws {
        try await self.expectWait(text, server: nil, seconds: seconds)
    }

    private func expectWait(_ text: String, server: String?, seconds: Int?) async throws {
        let headers = [("Retry-After", text)] + (server.map { [("Date", $0)] } ?? [])
        let world = World(StandIn { _, _ in UpstreamResponse(status: 503, headers: headers) })
        let credential = try await world.load(Files.user)
        let error = await #expect(throws: CredentialError.self) { try await credential.accessToken(scopes: []) }
        #expect(error?.retryAfter == seconds.map { .seconds($0) })
    }

    @Test func `a service that never answers ends with the time limit`() async throws {
        var world = World(
            StandIn { _, _ in
                try await Task.sleep(for: .seconds(3600))
                return UpstreamResponse(status: 200)
            })
        world.retries = RetryPolicy(attempts: 3, limit: .seconds(20))
        let credential = try await world.load(Files.user)
        let call = Task { try await credential.accessToken(scopes: []) }
        await world.clock.waitForSleepers(1)
        world.clock.advance(by: .seconds(20))
        let error = await #expect(throws: CredentialError.self) { try await call.value }
        #expect(error?.code == .timedOut)
    }
}

extension Result where Failure == any Error {
    init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }

    fileprivate var isFailure: Bool { if case .failure = self { true } else { false } }
}

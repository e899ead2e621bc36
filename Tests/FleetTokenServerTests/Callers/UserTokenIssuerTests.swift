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

/// Authenticators of one `iss`, such as a provider's apps.
@Suite struct UserTokenIssuerTests {
    private static let key = IdentityProvider.SigningKey.p256(.init())

    /// Those of two apps, in both orders.
    private static func chains(_ provider: IdentityProvider) throws -> [CallerAuthenticators] {
        let drivers = try IDTokenAuthenticatorTests.authenticator(provider, label: "drivers")
        let riders = try IDTokenAuthenticatorTests.authenticator(provider, label: "riders", audiences: ["rider-app"])
        // Whatever stands between, it is not asked about a token that those of its issuer refuse.
        return [
            CallerAuthenticators([drivers, OpenAuthenticator(), riders]),
            CallerAuthenticators([riders, OpenAuthenticator(), drivers]),
        ]
    }

    @Test(
        arguments: [
            (["aud": .string("driver-app")], "drivers"), (["aud": .string("rider-app")], "riders"),
            (["aud": .array([.string("driver-app"), .string("rider-app")]), "azp": .string("rider-app")], "riders"),
            (["aud": .array([.string("rider-app"), .string("driver-app")]), "azp": .string("driver-app")], "drivers"),
            (["iss": .string("https://other.example")], "open"),
        ] as [(JSONObject, String)])
    func `apps of one provider are told apart by their audiences`(changes: JSONObject, label: String) async throws {
        let token = try IdentityProvider.token(changes, key: Self.key)
        for chain in try Self.chains(IdentityProvider([("k1", Self.key)])) {
            #expect(try await chain.caller(of: IdentityProvider.request(token))?.issuer == label)
        }
    }

    @Test(
        arguments: [
            (["aud": .string("rider-app"), "exp": .integer(1)], .expired), (["aud": .string("other-app")], .audience),
            (["aud": .string("rider-app"), "sub": .null], .incomplete),
            (["aud": .array([.string("driver-app"), .string("rider-app")])], .audience),
            (["aud": .array([.string("driver-app"), .string("b")]), "azp": .string("rider-app")], .audience),
        ] as [(JSONObject, CallerRefusal.Reason)])
    func `a token that none of them takes is refused for what is wrong with it at the nearest`(
        changes: JSONObject, reason: CallerRefusal.Reason
    ) async throws {
        let token = try IdentityProvider.token(changes, key: Self.key)
        for chain in try Self.chains(IdentityProvider([("k1", Self.key)])) {
            let refusal = await #expect(throws: CallerRefusal.self) {
                try await chain.caller(of: IdentityProvider.request(token))
            }
            #expect(refusal?.reason == reason)
        }
    }

    @Test func `a provider and a backend with one issuer are told apart by the algorithm`() async throws {
        let provider = IdentityProvider([("k1", Self.key)])
        let members: [any CallerAuthenticator] = [
            try IDTokenAuthenticatorTests.authenticator(provider), try SessionTokenAuthenticatorTests.authenticator(),
        ]
        let idToken = try IdentityProvider.token(key: Self.key)
        let forged = Array("another-secret-of-256-bits-or-more".utf8)
        for chain in [CallerAuthenticators(members), CallerAuthenticators(members.reversed())] {
            func caller(_ token: String) async throws -> Caller? {
                try await chain.caller(of: IdentityProvider.request(token))
            }
            #expect(try await caller(idToken)?.issuer == "acme")
            #expect(try await caller(SessionTokenAuthenticatorTests.token())?.issuer == "backend")
            for (token, reason) in [
                (SessionTokenAuthenticatorTests.token(secret: forged), .signature),
                (SessionTokenAuthenticatorTests.token(["aud": .string("x")]), .audience),
                (try IdentityProvider.token(["aud": .string("x")], key: Self.key), .audience),
                (try IdentityProvider.token(kid: "k2", key: Self.key), .unknown),
                (try IdentityProvider.token(header: ["alg": .string("none")], key: Self.key), .algorithm),
            ] as [(String, CallerRefusal.Reason)] {
                let refusal = await #expect(throws: CallerRefusal.self) { try await caller(token) }
                #expect(refusal?.reason == reason)
            }
        }
    }

    @Test func `of two that take a token, the first has it`() async throws {
        let provider = IdentityProvider([("k1", Self.key)])
        let members: [any CallerAuthenticator] = [
            try IDTokenAuthenticatorTests.authenticator(provider, label: "first"),
            try IDTokenAuthenticatorTests.authenticator(provider, label: "second"),
        ]
        let request = IdentityProvider.request(try IdentityProvider.token(key: Self.key))
        #expect(try await CallerAuthenticators(members).caller(of: request)?.issuer == "first")
        #expect(try await CallerAuthenticators(members.reversed()).caller(of: request)?.issuer == "second")
    }

    @Test func `keys that cannot be had shut nobody out whom another knows, and nobody is refused for want of them`()
        async throws
    {
        let (down, up) = (IdentityProvider([]), IdentityProvider([("k1", Self.key)]))
        down.state.withLock { $0.status = 503 }
        let members: [any CallerAuthenticator] = [
            try IDTokenAuthenticatorTests.authenticator(down, label: "down"),
            try IDTokenAuthenticatorTests.authenticator(up, label: "up"),
        ]
        let token = try IdentityProvider.token(key: Self.key)
        let stranger = try IdentityProvider.token(key: .p256(.init()))
        for chain in [CallerAuthenticators(members), CallerAuthenticators(members.reversed())] {
            #expect(try await chain.caller(of: IdentityProvider.request(token))?.issuer == "up")
            await #expect(throws: KeySetError.self) {
                try await chain.caller(of: IdentityProvider.request(stranger))
            }
        }
    }

    @Test func `however many apps there are, invented keys make for one fetch in thirty seconds`() async throws {
        let provider = IdentityProvider([("k1", Self.key)])
        let clock = ManualClock()
        let apps = ["driver-app", "rider-app", "courier-app"]
        let providers = apps.map {
            IDTokenAuthenticator.Configuration(label: $0, issuer: IdentityProvider.issuer, audiences: [$0])
        }
        let authenticators = try IDTokenAuthenticator.all(
            providers, transport: provider, time: TimeSource(clock: clock, now: { IdentityProvider.now }))
        let chain = CallerAuthenticators(authenticators)
        let other = IdentityProvider.SigningKey.p256(.init())
        for app in apps {
            let audience: JSONObject = ["aud": .string(app)]
            let good = try IdentityProvider.token(audience, key: Self.key)
            #expect(try await chain.caller(of: IdentityProvider.request(good))?.issuer == app)
            let forged = try IdentityProvider.token(audience, key: other)
            await #expect(throws: CallerRefusal.self) { try await chain.caller(of: IdentityProvider.request(forged)) }
        }
        #expect(provider.fetches == 1)
        for second in 1...60 {
            clock.advance(by: .seconds(1))
            for app in apps {
                let token = try IdentityProvider.token(
                    ["aud": .string(app)], kid: "invented-\(second)-\(app)", key: Self.key)
                _ = try? await chain.caller(of: IdentityProvider.request(token))
            }
        }
        #expect(provider.fetches == 3)
        let metrics = TokenServerMetrics()
        metrics.show(identityKeys: IDTokenAuthenticator.keySets(of: authenticators))
        let name = "fleetpass_identity_key"
        #expect(metrics.text.contains(#"\#(name)_fetches_total{provider="driver-app",outcome="fetched"} 3"#))
        #expect(metrics.text.contains(#"\#(name)_uses_total{provider="driver-app",result="miss"} 3"#))
        #expect(metrics.text.contains(#"\#(name)_uses_total{provider="driver-app",result="hit"} 183"#))
        #expect(!metrics.text.contains("rider-app"), "what they share is counted once")
    }

    @Test func `users and administrators of one provider are known by keys fetched once`() async throws {
        let provider = IdentityProvider([("k1", Self.key)])
        let configuration = try TokenServerConfiguration(
            yaml: """
                provider: acme
                data: d
                keys: k
                callers: {oidc: {login: {issuer: "\(IdentityProvider.issuer)", audience: driver-app}}}
                admin: {provider: login, claim: groups, values: ops}
                """, folder: URL(filePath: "/etc/fleetpass", directoryHint: .isDirectory), environment: [:])
        let metrics = TokenServerMetrics()
        let providers = try configuration.providers(transport: provider, metrics: metrics)
        let users = CallerAuthenticators(try configuration.authenticators(callers: nil, providers: providers))
        let administrators = try #require(configuration.administrators(secrets: nil, providers: providers))
        let now = Int64(Date().timeIntervalSince1970)
        func request(_ groups: String) throws -> CallerRequest {
            IdentityProvider.request(
                try IdentityProvider.token(
                    ["groups": .string(groups), "iat": .integer(now), "exp": .integer(now + 600)], key: Self.key))
        }
        #expect(try await users.caller(of: request("drivers"))?.issuer == "login")
        #expect(try await administrators.administrator(of: request("ops")).issuer == "login")
        #expect(provider.state.withLock { $0.asked.count } == 2, "the discovery document, and the keys")
        for (result, count) in [("miss", 1), ("hit", 1)] {
            #expect(
                metrics.text.contains(
                    #"fleetpass_identity_key_uses_total{provider="login",result="\#(result)"} \#(count)"#))
        }
    }

    @Test func `providers of a configuration with one issuer know their users by keys fetched once`() async throws {
        let provider = IdentityProvider([("k1", Self.key)])
        let configuration = try TokenServerConfiguration(
            yaml: """
                provider: acme
                data: d
                keys: k
                callers:
                  oidc:
                    drivers: {issuer: "\(IdentityProvider.issuer)", audience: driver-app}
                    riders: {issuer: "\(IdentityProvider.issuer)", audience: rider-app}
                """, folder: URL(filePath: "/etc/fleetpass", directoryHint: .isDirectory), environment: [:])
        let chain = try configuration.authenticator(transport: provider)
        let now = Int64(Date().timeIntervalSince1970)
        for (audience, label) in [("driver-app", "drivers"), ("rider-app", "riders")] {
            let token = try IdentityProvider.token(
                ["aud": .string(audience), "iat": .integer(now), "exp": .integer(now + 600)], key: Self.key)
            #expect(try await chain.caller(of: IdentityProvider.request(token))?.issuer == label)
        }
        #expect(provider.fetches == 1)
    }
}

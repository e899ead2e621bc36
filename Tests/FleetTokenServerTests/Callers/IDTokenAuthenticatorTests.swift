// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import FleetSigning
import FleetTestSupport
import FleetTokens
import Foundation
import HTTPTypes
import Testing

@testable import FleetTokenServer

@Suite struct IDTokenAuthenticatorTests {
    typealias Key = IdentityProvider.SigningKey

    static func authenticator(
        _ provider: IdentityProvider, label: String = "acme", audiences: Set<String> = ["driver-app"],
        nameClaim: String = "sub", clock: ManualClock = ManualClock()
    ) throws -> IDTokenAuthenticator {
        try IDTokenAuthenticator(
            .init(label: label, issuer: IdentityProvider.issuer, audiences: audiences, nameClaim: nameClaim),
            transport: provider, clock: clock, now: { IdentityProvider.now })
    }

    @Test func `tokens of the three algorithms are accepted`() async throws {
        let keys: [Key] = [try IdentityProvider.rsaKey.get(), .p256(.init()), .ed25519(.init())]
        let provider = IdentityProvider(keys.enumerated().map { ("k\($0.offset)", $0.element) })
        let authenticator = try Self.authenticator(provider)
        for (index, key) in keys.enumerated() {
            let token = try IdentityProvider.token(kid: "k\(index)", key: key)
            let caller = try await authenticator.caller(of: IdentityProvider.request(token))
            #expect(caller?.id == CallerID(issuer: "acme", subject: "user-1"), "\(key.algorithm)")
            #expect(caller?.roles.isEmpty == true)
        }
        #expect(provider.fetches == 1)
    }

    @Test(
        arguments: [
            ("another audience", ["aud": .string("other-app")], .audience),
            ("no audience", ["aud": .null], .audience),
            ("an empty list of audiences", ["aud": .array([])], .audience),
            ("an audience that is no text", ["aud": .integer(1)], .audience),
            ("several audiences without azp", ["aud": .array([.string("driver-app"), .string("b")])], .audience),
            (
                "several audiences and another authorized party",
                ["aud": .array([.string("driver-app"), .string("b")]), "azp": .string("b")], .audience
            ),
            (
                "another audience, though we are the authorized party",
                ["aud": .string("other-app"), "azp": .string("driver-app")], .audience
            ),
            ("no end", ["exp": .null], .expired),
            ("past its end", ["exp": .integer(1_767_225_540)], .expired),
            ("an end that is text", ["exp": .string("1767229100")], .malformed),
            ("an endless end", ["exp": .double(.infinity)], .malformed),
            ("no iat", ["iat": .null], .incomplete),
            ("iat in the future", ["iat": .integer(1_767_225_661)], .notYetValid),
            ("iat after the end", ["iat": .integer(1_767_225_650), "exp": .integer(1_767_225_640)], .notYetValid),
            ("nbf in the future", ["nbf": .integer(1_767_225_661)], .notYetValid),
            ("no subject", ["sub": .null], .incomplete),
            ("an empty subject", ["sub": .string("")], .incomplete),
            ("a subject with an accent", ["sub": .string("andré")], .incomplete),
            ("a subject with a line break", ["sub": .string("a\nb")], .incomplete),
            ("a subject that is long", ["sub": .string(String(repeating: "x", count: 256))], .incomplete),
            ("an authorization claim", ["authorization": .object([:])], .wrongKind),
            ("Fleet Engine's audience", ["aud": .string("https://fleetengine.googleapis.com/")], .wrongKind),
            (
                "Fleet Engine's audience among others",
                ["aud": .array([.string("driver-app"), .string("https://FleetEngine.googleapis.com")])], .wrongKind
            ),
        ] as [(String, JSONObject, CallerRefusal.Reason)])
    func `a token whose claims do not hold is refused`(
        what: String, changes: JSONObject, reason: CallerRefusal.Reason
    ) async throws {
        let key = Key.p256(.init())
        let authenticator = try Self.authenticator(IdentityProvider([("k1", key)]))
        let token = try IdentityProvider.token(changes, key: key)
        let refusal = await #expect(throws: CallerRefusal.self, "\(what)") {
            try await authenticator.caller(of: IdentityProvider.request(token))
        }
        #expect(refusal?.reason == reason, "\(what)")
        #expect(refusal.map { "\($0)".contains(token.suffix(20)) } == false)
    }

    @Test(
        arguments: [
            ["exp": .integer(1_767_225_541)], ["iat": .integer(1_767_225_660)], ["nbf": .integer(1_767_225_660)],
            ["exp": .double(1_767_229_100.5)], ["aud": .array([.string("driver-app")])],
            ["aud": .array([.string("b"), .string("driver-app")]), "azp": .string("driver-app")],
        ] as [JSONObject])
    func `a token within the leeway is accepted`(changes: JSONObject) async throws {
        let key = Key.p256(.init())
        let authenticator = try Self.authenticator(IdentityProvider([("k1", key)]))
        let token = try IdentityProvider.token(changes, key: key)
        #expect(try await authenticator.caller(of: IdentityProvider.request(token)) != nil)
    }

    @Test(
        arguments: [
            ["azp": .string("android-app")], ["azp": .integer(1)],
            ["aud": .array([.string("driver-app")]), "azp": .string("android-app")],
        ] as [JSONObject])
    func `a token for us alone is accepted whoever it was given to`(changes: JSONObject) async throws {
        let key = Key.p256(.init())
        let authenticator = try Self.authenticator(IdentityProvider([("k1", key)]))
        let token = try IdentityProvider.token(changes, key: key)
        #expect(try await authenticator.caller(of: IdentityProvider.request(token)) != nil)
    }

    @Test(
        arguments: [
            (["alg": .string("none")], .algorithm), (["alg": .string("HS256")], .algorithm),
            (["alg": .string("RS512")], .algorithm), (["alg": .null], .algorithm),
            (["alg": .string("RS256")], .algorithm), (["typ": .string("at+jwt")], .wrongKind),
            (["typ": .integer(1)], .wrongKind), (["crit": .array([.string("x")])], .malformed),
            (["b64": .bool(false)], .malformed), (["kid": .null], .unknown), (["kid": .integer(1)], .unknown),
            (["kid": .string("k2")], .unknown),
        ] as [(JSONObject, CallerRefusal.Reason)])
    func `a header that asks for leniency is refused`(
        header: JSONObject, reason: CallerRefusal.Reason
    ) async throws {
        let key = Key.p256(.init())
        let authenticator = try Self.authenticator(IdentityProvider([("k1", key)]))
        let token = try IdentityProvider.token(header: header, key: key)
        let refusal = await #expect(throws: CallerRefusal.self) {
            try await authenticator.caller(of: IdentityProvider.request(token))
        }
        #expect(refusal?.reason == reason)
    }

    @Test func `HS256 with the public key as the secret is refused`() async throws {
        guard case .rsa(let key) = try IdentityProvider.rsaKey.get() else { return }
        let authenticator = try Self.authenticator(IdentityProvider([("k1", .rsa(key))]))
        let secret = SymmetricKey(data: Data(key.publicKey.pemRepresentation.utf8))
        let header: JSONObject = ["alg": .string("HS256"), "kid": .string("k1")]
        let token = IdentityProvider.token(
            header: JSONValue.object(header).serialized, payload: JSONValue.object(IdentityProvider.claims).serialized
        ) { Array(HMAC<Crypto.SHA256>.authenticationCode(for: $0, using: secret)) }
        let refusal = await #expect(throws: CallerRefusal.self) {
            try await authenticator.caller(of: IdentityProvider.request(token))
        }
        #expect(refusal?.reason == .algorithm)
    }

    @Test func `any change of the signed bytes or the signature is refused, and never fetches keys`() async throws {
        let key = Key.ed25519(.init())
        let provider = IdentityProvider([("k1", key)])
        let authenticator = try Self.authenticator(provider)
        let token = try IdentityProvider.token(key: key)
        #expect(try await authenticator.caller(of: IdentityProvider.request(token)) != nil)
        let bytes = Array(token.utf8)
        for position in stride(from: 0, to: bytes.count, by: 3) {
            var changed = bytes
            changed[position] = changed[position] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let caller = try? await authenticator.caller(
                of: IdentityProvider.request(String(decoding: changed, as: UTF8.self)))
            #expect(caller == nil, "byte \(position)")
        }
        let forged = try IdentityProvider.token(key: .ed25519(.init()))
        let before = provider.fetches
        for _ in 0..<50 {
            let refusal = await #expect(throws: CallerRefusal.self) {
                try await authenticator.caller(of: IdentityProvider.request(forged))
            }
            #expect(refusal?.reason == .signature)
        }
        #expect(provider.fetches == before)
    }

    @Test func `a token is checked with the key that it names, and with no other of its issuer`() async throws {
        let (first, second) = (Key.p256(.init()), Key.p256(.init()))
        let authenticator = try Self.authenticator(IdentityProvider([("k1", first), ("k2", second)]))
        for (name, reason) in [("k2", nil), ("k1", .signature)] as [(String, CallerRefusal.Reason?)] {
            let request = IdentityProvider.request(try IdentityProvider.token(kid: name, key: second))
            guard let reason else {
                #expect(try await authenticator.caller(of: request) != nil)
                continue
            }
            let refusal = await #expect(throws: CallerRefusal.self) { try await authenticator.caller(of: request) }
            #expect(refusal?.reason == reason)
        }
    }

    @Test func `an issuer that ends in a slash has its discovery document where others have theirs`() async throws {
        let (key, issuer) = (Key.p256(.init()), IdentityProvider.issuer + "/")
        let provider = IdentityProvider([("k1", key)])
        provider.state.withLock { $0.discoveredIssuer = issuer }
        let authenticator = try IDTokenAuthenticator(
            .init(label: "acme", issuer: issuer, audiences: ["driver-app"]), transport: provider,
            clock: ManualClock(), now: { IdentityProvider.now })
        let token = try IdentityProvider.token(["iss": .string(issuer)], key: key)
        #expect(try await authenticator.caller(of: IdentityProvider.request(token))?.subject == "user-1")
    }

    @Test func `a flood of invented keys makes for one fetch in thirty seconds`() async throws {
        let key = Key.p256(.init())
        let provider = IdentityProvider([("k1", key)])
        let clock = ManualClock()
        let authenticator = try Self.authenticator(provider, clock: clock)
        let good = IdentityProvider.request(try IdentityProvider.token(key: key))
        #expect(try await authenticator.caller(of: good) != nil)
        for second in 1...60 {
            clock.advance(by: .seconds(1))
            for number in 0..<5 {
                let token = try IdentityProvider.token(kid: "invented-\(second)-\(number)", key: key)
                _ = try? await authenticator.caller(of: IdentityProvider.request(token))
            }
        }
        #expect(provider.fetches == 3)
        #expect(try await authenticator.caller(of: good) != nil)
    }

    @Test func `many callers at once make for one fetch`() async throws {
        let key = Key.p256(.init())
        let provider = IdentityProvider([("k1", key)])
        let authenticator = try Self.authenticator(provider)
        let request = IdentityProvider.request(try IdentityProvider.token(key: key))
        let known = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<500 { group.addTask { (try? await authenticator.caller(of: request)) != nil } }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(known == 500)
        #expect(provider.fetches == 1)
    }

    @Test func `a new key is found, and a withdrawn one ends with the set`() async throws {
        let (old, new) = (Key.p256(.init()), Key.ed25519(.init()))
        let provider = IdentityProvider([("k1", old)])
        let authenticator = try Self.authenticator(provider)
        let oldToken = IdentityProvider.request(try IdentityProvider.token(key: old))
        let newToken = IdentityProvider.request(try IdentityProvider.token(kid: "k2", key: new))
        #expect(try await authenticator.caller(of: oldToken) != nil)
        provider.state.withLock { $0.keys = [("k2", new)] }
        #expect(try await authenticator.caller(of: newToken) != nil)
        await #expect(throws: CallerRefusal.self) { try await authenticator.caller(of: oldToken) }
    }

    @Test func `while the provider is down nobody is refused for it, and known keys go on`() async throws {
        let key = Key.p256(.init())
        let provider = IdentityProvider([("k1", key)])
        let clock = ManualClock()
        let authenticator = try Self.authenticator(provider, clock: clock)
        let request = IdentityProvider.request(try IdentityProvider.token(key: key))
        provider.state.withLock { $0.status = 503 }
        await #expect(throws: KeySetError.self) { try await authenticator.caller(of: request) }
        provider.state.withLock { $0.status = 200 }
        clock.advance(by: .seconds(1))
        #expect(try await authenticator.caller(of: request) != nil)
        provider.state.withLock { $0.status = 500 }
        clock.advance(by: .seconds(3999))
        #expect(try await authenticator.caller(of: request) != nil, "the old set is kept")
    }

    @Test func `what stands in the query of a key set's address is told to the provider alone`() async throws {
        let provider = IdentityProvider([])
        provider.state.withLock { $0.status = 503 }
        let configuration = IDTokenAuthenticator.Configuration(
            label: "acme", issuer: IdentityProvider.issuer, audiences: ["driver-app"],
            keysAddress: "https://login.example/keys?code=MARKED")
        let authenticator = try IDTokenAuthenticator(
            configuration, transport: provider, clock: ManualClock(), now: { IdentityProvider.now })
        let request = IdentityProvider.request(try IdentityProvider.token(key: .p256(.init())))
        let error = await #expect(throws: KeySetError.self) { try await authenticator.caller(of: request) }
        #expect(
            error?.message == "The keys of https://login.example/keys cannot be fetched now: "
                + "GET https://login.example/keys was answered with 503, 0 bytes.")
        let failure = await #expect(throws: KeySetError.self) {
            try await IDTokenAuthenticator.countKeys(of: configuration, transport: provider)
        }
        #expect(failure?.message.contains("MARKED") == false)
        #expect(provider.state.withLock { $0.asked.allSatisfy { $0 == "https://login.example/keys?code=MARKED" } })
    }

    @Test(arguments: [
        ("https://evil.example", "https://login.example/keys"),
        ("https://login.example", "http://login.example/keys"),
        ("https://login.example", "file:///keys"),
        ("https://login.example", "https://a@login.example/keys"),
    ])
    func `a discovery document that leads astray is not followed`(issuer: String, address: String) async throws {
        let key = Key.p256(.init())
        let provider = IdentityProvider([("k1", key)])
        provider.state.withLock { ($0.discoveredIssuer, $0.keysAddress) = (issuer, address) }
        let authenticator = try Self.authenticator(provider)
        let request = IdentityProvider.request(try IdentityProvider.token(key: key))
        await #expect(throws: KeySetError.self) { try await authenticator.caller(of: request) }
        #expect(provider.state.withLock { $0.asked.count } == 1)
    }

    @Test(arguments: [
        ("https://login.example/", "https://login.example/"),
        ("https://evil.example\n\u{202E}", "https://evil.example??"),
        (String(repeating: "x", count: 300), String(repeating: "x", count: 200)),
    ])
    func `a discovery document that is another issuer's is told with what it says`(
        named: String, shown: String
    ) async throws {
        let key = Key.p256(.init())
        let provider = IdentityProvider([("k1", key)])
        provider.state.withLock { $0.discoveredIssuer = named }
        let configuration = IDTokenAuthenticator.Configuration(
            label: "acme", issuer: IdentityProvider.issuer, audiences: ["driver-app"])
        let words = "The discovery document of https://login.example says that its issuer is \"\(shown)\"."
        let fault = await #expect(throws: KeySetError.self) {
            try await IDTokenAuthenticator.countKeys(of: configuration, transport: provider)
        }
        #expect(fault?.message == words)
        #expect(fault?.isConfiguration == true)
        let authenticator = try Self.authenticator(provider)
        let request = IdentityProvider.request(try IdentityProvider.token(key: key))
        let error = await #expect(throws: KeySetError.self) { try await authenticator.caller(of: request) }
        #expect(error?.message == "The keys of https://login.example cannot be fetched now: \(words)")
    }

    @Test func `what is not this issuer's is left to others`() async throws {
        let key = Key.p256(.init())
        let provider = IdentityProvider([("k1", key)])
        let authenticator = try Self.authenticator(provider)
        let foreign = try IdentityProvider.token(["iss": .string("https://login.example/")], key: key)
        for credential in ["secret", "a.b.c", "..", "", foreign, String(repeating: "a", count: 20_000)] {
            #expect(try await authenticator.caller(of: IdentityProvider.request(credential)) == nil)
        }
        #expect(try await authenticator.caller(of: CallerRequest(headers: [:])) == nil)
        #expect(provider.fetches == 0)
    }

    @Test func `claims are read as lists, of bounded size, with paths into objects`() async throws {
        let key = Key.p256(.init())
        let authenticator = try Self.authenticator(IdentityProvider([("k1", key)]), nameClaim: "email")
        let token = try IdentityProvider.token(
            [
                "email": .string("d@example.com"), "groups": .array([.string("drivers"), .string("night")]),
                "realm_access": .object(["roles": .array([.string("driver")])]),
                "mixed": .array([.string("driver"), .integer(1)]), "admin": .bool(true),
                "long": .string(String(repeating: "x", count: 513)),
                "many": .array(Array(repeating: .string("x"), count: 129)), "": .string("x"),
                "most": .array(Array(repeating: .string("x"), count: 128)),
                String(repeating: "n", count: 512): .string("x"), String(repeating: "n", count: 513): .string("x"),
                "a": .object(["b": .string("nested")]), "a.b": .string("flat"),
            ], key: key)
        let caller = try #require(try await authenticator.caller(of: IdentityProvider.request(token)))
        #expect(caller.name == "d@example.com")
        #expect(caller.claims["groups"] == ["drivers", "night"])
        #expect(caller.claims["realm_access.roles"] == ["driver"])
        #expect(caller.claims["sub"] == ["user-1"])
        #expect(caller.claims["most"]?.count == 128)
        #expect(caller.claims[String(repeating: "n", count: 512)] == ["x"])
        for name in ["mixed", "admin", "long", "many", "a.b", "", String(repeating: "n", count: 513)] {
            #expect(caller.claims[name] == nil, "\(name)")
        }
    }

    @Test(arguments: [
        #"{"realm":{"groups":"drivers"},"realm.groups":"controllers"}"#,
        #"{"realm":{"groups":7},"realm.groups":"controllers"}"#,
        #"{"realm":{"groups":[null]},"realm.groups":["controllers"]}"#,
        #"{"realm.groups":"controllers","realm":{"groups":{}}}"#,
        #"{"realm.groups":{"of":"x"},"realm":{"groups":"controllers"}}"#,
    ])
    func `a claim that is spelt in two ways is not there, whatever it holds`(claims: String) throws {
        let members = try #require(try JSONValue(parsing: Array(claims.utf8)).object)
        #expect(UserTokenClaims.lists(in: members)["realm.groups"] == nil)
    }

    @Test func `a claim's own name may have dots, and a path is no deeper than three names`() throws {
        let claims = #"""
            {"https://acme.example/roles":["driver"],"a":{"b":{"c":"x","d":{"e":"y","f":"z"}}},"a.b.d.f":"w"}
            """#
        let members = try #require(try JSONValue(parsing: Array(claims.utf8)).object)
        #expect(UserTokenClaims.lists(in: members) == ["https://acme.example/roles": ["driver"], "a.b.c": ["x"]])
    }

    @Test func `a token's own claims are all there, and those inside objects as far as there is room`() throws {
        func claims(clients: Int) throws -> [String: [String]] {
            let access = (0..<clients).map { #""client-\#($0)":{"roles":["a"]}"# }.joined(separator: ",")
            let own = (0..<100).map { #""own-\#($0)":"a""# }.joined(separator: ",")
            let text = #"""
                {"resource_access":{\#(access)},\#(own),"vehicle":"veh-3","zone":{"name":"north"}}
                """#
            return UserTokenClaims.lists(in: try #require(try JSONValue(parsing: Array(text.utf8)).object))
        }
        let all = try claims(clients: 62)
        #expect(all.count == 62 + 100 + 2)
        #expect(all["vehicle"] == ["veh-3"])
        let most = try claims(clients: 300)
        #expect(most.count == UserTokenClaims.maximumNested + 100 + 1)
        #expect(most["vehicle"] == ["veh-3"])
        #expect(most["zone.name"] == ["north"], "a path of fewer names goes first")
        #expect(most["resource_access.client-99.roles"] == nil)
    }

    @Test func `an issuer or an audience that is only equivalent to ours is not ours`() async throws {
        let key = Key.p256(.init())
        let authenticator = try IDTokenAuthenticator(
            .init(
                label: "acme", issuer: "https://login.example/K", audiences: ["Kiosk"],
                keysAddress: IdentityProvider.issuer + "/keys"),
            transport: IdentityProvider([("k1", key)]), clock: ManualClock(), now: { IdentityProvider.now })
        func caller(_ issuer: String, _ audience: String, _ party: String) async throws -> Caller? {
            let claims: JSONObject = [
                "iss": .string("https://login.example/\(issuer)"), "azp": .string(party),
                "aud": .array([.string(audience), .string("other-app")]),
            ]
            return try await authenticator.caller(
                of: IdentityProvider.request(try IdentityProvider.token(claims, key: key)))
        }
        #expect(try await caller("K", "Kiosk", "Kiosk")?.subject == "user-1")
        #expect(try await caller("\u{212A}", "Kiosk", "Kiosk") == nil)
        for (audience, party) in [("\u{212A}iosk", "Kiosk"), ("Kiosk", "\u{212A}iosk")] {
            let refusal = await #expect(throws: CallerRefusal.self) { try await caller("K", audience, party) }
            #expect(refusal?.reason == .audience)
        }
    }

    @Test(arguments: ["a\nlevel=critical", "a\u{202E}b", "\u{2028}", "", "a\u{7F}"])
    func `a name that would disturb the log is replaced by the subject`(name: String) async throws {
        let key = Key.p256(.init())
        let authenticator = try Self.authenticator(IdentityProvider([("k1", key)]), nameClaim: "email")
        let token = try IdentityProvider.token(["email": .string(name)], key: key)
        #expect(try await authenticator.caller(of: IdentityProvider.request(token))?.name == "user-1")
    }

    @Test func `a Fleet Engine token is never a user's, and a user's never a Fleet Engine token`() async throws {
        let key = try ServiceAccountKey(generatingFor: "driver@acme", projectID: "acme")
        let minted = try await TokenMinter(signer: try LocalSigner(key)).mint(
            TokenType.driver(VehicleID(checking: "veh-1")).claims, at: IdentityProvider.now)
        let user = try IdentityProvider.rsaKey.get()
        let authenticator = try Self.authenticator(IdentityProvider([("k1", user)]))
        let refusal = await #expect(throws: CallerRefusal.self) {
            try await authenticator.caller(of: IdentityProvider.request(minted.token.compactSerialization))
        }
        #expect(refusal?.reason == .wrongKind)
        // The other way round, signed with the very key that the engine trusts.
        let pem = try #require(try JSONValue(parsing: key.keyFile).object?["private_key"]?.string)
        let idToken = try IdentityProvider.token(kid: key.keyID, key: .rsa(.init(pemRepresentation: pem)))
        #expect(throws: TokenRefusal.self) {
            try TokenExaminer().examine(
                idToken, keys: TrustedKeySet([try key.publicKey()]), now: IdentityProvider.now)
        }
    }

    @Test func `a configuration that cannot be meant is an error`() {
        let provider = IdentityProvider([])
        for configuration in [
            IDTokenAuthenticator.Configuration(label: "a", issuer: "http://login.example", audiences: ["x"]),
            .init(label: "a", issuer: "login.example", audiences: ["x"]),
            .init(label: "a", issuer: "https://login.example", audiences: []),
            .init(label: "a", issuer: "https://login.example", audiences: ["x", ""]),
            .init(label: "", issuer: "https://login.example", audiences: ["x"]),
            .init(label: "a", issuer: "https://l.example", audiences: ["https://fleetengine.googleapis.com/"]),
            .init(label: "a", issuer: "https://l.example", audiences: ["x"], leeway: .seconds(301)),
            .init(label: "a", issuer: "https://l.example", audiences: ["x"], keysAddress: "http://l.example/k"),
        ] {
            let error = #expect(throws: TokenServerError.self) {
                try IDTokenAuthenticator(configuration, transport: provider)
            }
            #expect(error?.code == .invalidConfiguration)
        }
    }
}

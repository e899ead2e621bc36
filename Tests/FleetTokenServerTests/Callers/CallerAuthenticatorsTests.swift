// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FleetOperation
import FleetSigning
import FleetTokens
import Foundation
import GoogleCredentials
import HTTPTypes
import SwiftASN1
import Testing
import X509

@testable import FleetTokenServer

@Suite struct CallerAuthenticatorsTests {
    // MARK: - The chain

    @Test func `the first that recognises a credential decides, and a refusal is not passed on`() async throws {
        let key = IdentityProvider.SigningKey.p256(.init())
        let provider = IdentityProvider([("k1", key)])
        let chain = CallerAuthenticators([
            try IDTokenAuthenticatorTests.authenticator(provider),
            try Self.proxy(), OpenAuthenticator(),
        ])
        let good = IdentityProvider.request(try IdentityProvider.token(key: key))
        #expect(try await chain.caller(of: good)?.issuer == "acme")
        let expired = IdentityProvider.request(try IdentityProvider.token(["exp": .integer(1)], key: key))
        await #expect(throws: CallerRefusal.self) { try await chain.caller(of: expired) }
        let unknown = IdentityProvider.request(
            try IdentityProvider.token(["iss": .string("https://x.example")], key: key))
        #expect(try await chain.caller(of: unknown)?.issuer == "open")
        #expect(try await CallerAuthenticators([]).caller(of: good) == nil)
    }

    @Test func `an identity provider that is down is not passed over`() async throws {
        let key = IdentityProvider.SigningKey.p256(.init())
        let provider = IdentityProvider([("k1", key)])
        provider.state.withLock { $0.status = 500 }
        let chain = CallerAuthenticators([try IDTokenAuthenticatorTests.authenticator(provider), OpenAuthenticator()])
        let good = IdentityProvider.request(try IdentityProvider.token(key: key))
        await #expect(throws: KeySetError.self) { try await chain.caller(of: good) }
    }

    @Test func `a user's token is read up to 16 KiB, and a longer one refused for its length`() async throws {
        let key = IdentityProvider.SigningKey.p256(.init())
        let users = try IDTokenAuthenticatorTests.authenticator(IdentityProvider([("k1", key)]))
        let made = StaticBearerAuthenticator.makeSecret()
        let entry = #"{"name":"app","salt":"\#(made.salt)","secret_sha256":"\#(made.digest)","roles":["driver"]}"#
        let secrets = try StaticBearerAuthenticator(json: Data(#"{"callers":[\#(entry)]}"#.utf8))
        func request(groups: Int) throws -> CallerRequest {
            let names = (0..<groups).map { JSONValue.string("group-\(10_000 + $0)") }
            return IdentityProvider.request(try IdentityProvider.token(["groups": .array(names)], key: key))
        }
        let (long, tooLong) = (try request(groups: 800), try request(groups: 900))
        let lengths = [long, tooLong].map { $0.bearer?.utf8.count ?? 0 }
        #expect(lengths[0] > 12 * 1024 && lengths[0] < UserToken.maximumBytes && lengths[1] > UserToken.maximumBytes)
        for chain in [CallerAuthenticators([users]), CallerAuthenticators([users, secrets])] {
            #expect(try await chain.caller(of: long)?.issuer == "acme")
            let refusal = await #expect(throws: CallerRefusal.self) { try await chain.caller(of: tooLong) }
            #expect(refusal?.reason == .malformed)
            #expect(refusal?.message.contains("more than 16384 bytes") == true)
        }
        #expect(try await CallerAuthenticators([users, OpenAuthenticator()]).caller(of: tooLong)?.issuer == "open")
        let secret = IdentityProvider.request(String(repeating: "a", count: 20_000))
        let refusal = await #expect(throws: CallerRefusal.self) { try await secrets.caller(of: secret) }
        #expect(refusal?.reason == .unknown)
    }

    @Test(
        arguments: [
            (nil, nil), ("Bearer abc", "abc"), ("bearer abc", "abc"), ("Bearer abc def", nil), ("Basic abc", nil),
        ] as [(String?, String?)])
    func `a bearer credential is one word`(field: String?, credential: String?) {
        var headers = HTTPFields()
        headers[.authorization] = field
        #expect(CallerRequest(headers: headers).bearer == credential)
    }

    @Test func `who asks is the client that a proxy names, or the connection's other end`() {
        #expect(CallerRequest(headers: [:], peerAddress: "192.0.2.7").clientAddress == "192.0.2.7")
        let forwarded = CallerRequest(headers: [:], peerAddress: "192.0.2.7", forwardedAddress: "198.51.100.9")
        #expect(forwarded.clientAddress == "198.51.100.9")
    }

    // MARK: - Proxies

    static func proxy() throws -> TrustedProxyAuthenticator {
        try TrustedProxyAuthenticator(
            label: "gate", peers: [AddressRange("10.1.0.0/16"), AddressRange("fd00::/8")],
            subjectHeader: "X-Forwarded-User", claimHeaders: ["X-Forwarded-Groups": "groups"])
    }

    private static func request(_ fields: [(String, String)], from peer: String?) throws -> CallerRequest {
        var headers = HTTPFields()
        for (name, value) in fields {
            headers.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
        }
        return CallerRequest(headers: headers, peerAddress: peer)
    }

    @Test(arguments: ["10.1.0.0", "10.1.255.255", "::ffff:10.1.2.3", "fd12::1"])
    func `a listed proxy names users and their claims`(peer: String) async throws {
        let request = try Self.request(
            [("X-Forwarded-User", "ann"), ("x-forwarded-groups", "drivers, night"), ("X-Forwarded-Groups", "b")],
            from: peer)
        let caller = try await Self.proxy().caller(of: request)
        #expect(caller?.id == CallerID(issuer: "gate", subject: "ann"))
        #expect(caller?.claims == ["sub": ["ann"], "groups": ["drivers", "night", "b"]])
    }

    @Test(arguments: ["10.2.0.0", "11.1.0.0", "127.0.0.1", "fe00::1", "::1", "", "10.1.0.0.1", nil])
    func `from another address the headers are a forgery`(peer: String?) async throws {
        let forged = try Self.request(
            [("X-Forwarded-User", "ann"), ("X-Forwarded-For", "10.1.0.1")], from: peer)
        let refusal = await #expect(throws: CallerRefusal.self) { try await Self.proxy().caller(of: forged) }
        #expect(refusal?.reason == .unknown)
        #expect(try await Self.proxy().caller(of: try Self.request([], from: peer)) == nil)
    }

    @Test func `a forgery is refused whatever stands beside it`() async throws {
        let key = IdentityProvider.SigningKey.p256(.init())
        let chain = CallerAuthenticators([
            try IDTokenAuthenticatorTests.authenticator(IdentityProvider([("k1", key)])), try Self.proxy(),
            try TrustedProxyAuthenticator(
                label: "door", peers: [AddressRange("192.0.2.7")], subjectHeader: "X-Forwarded-User"),
        ])
        let token = try IdentityProvider.token(key: key)
        let credential = ("Authorization", "Bearer \(token)")
        let user = ("X-Forwarded-User", "ann")
        let groups = ("X-Forwarded-Groups", "drivers")
        // Without the headers, or with those of a proxy that sends them, the credential counts as before.
        let honest: [(fields: [(String, String)], peer: String)] = [
            ([], "192.0.2.1"), ([user, groups], "10.1.0.1"), ([user], "192.0.2.7"),
        ]
        for (fields, peer) in honest {
            let request = try Self.request(fields + [credential], from: peer)
            #expect(try await chain.caller(of: request)?.issuer == "acme")
        }
        for (field, peer) in [(user, "192.0.2.1"), (groups, "192.0.2.1"), (groups, "192.0.2.7")] {
            let request = try Self.request([field, credential], from: peer)
            let refusal = await #expect(throws: CallerRefusal.self) { try await chain.caller(of: request) }
            #expect(refusal?.reason == .unknown)
        }
    }

    @Test(
        arguments: [("10.1.0.1", "gate"), ("192.0.2.7", "door"), ("192.0.2.8", nil), (nil, nil)]
            as [(String?, String?)])
    func `of proxies that send the same header each names its own users`(peer: String?, label: String?) async throws {
        let proxies: [any CallerAuthenticator] = [
            try Self.proxy(),
            try TrustedProxyAuthenticator(
                label: "door", peers: [AddressRange("192.0.2.7")], subjectHeader: "X-Forwarded-User"),
        ]
        let request = try Self.request([("X-Forwarded-User", "ann")], from: peer)
        for chain in [CallerAuthenticators(proxies), CallerAuthenticators(proxies.reversed())] {
            guard let label else {
                await #expect(throws: CallerRefusal.self) { try await chain.caller(of: request) }
                continue
            }
            #expect(try await chain.caller(of: request)?.id == CallerID(issuer: label, subject: "ann"))
        }
    }

    @Test func `a proxy's forged claims are refused also where it stands alone`() async throws {
        let forged = try Self.request([("X-Forwarded-Groups", "drivers")], from: "192.0.2.1")
        await #expect(throws: CallerRefusal.self) { try await Self.proxy().caller(of: forged) }
    }

    @Test(arguments: [
        [("X-Forwarded-User", "")], [("X-Forwarded-User", "a"), ("X-Forwarded-User", "b")],
        [("X-Forwarded-User", "a"), ("X-Forwarded-Groups", String(repeating: "g,", count: 129))],
    ])
    func `a proxy that names nobody or two, or claims without end, is refused`(fields: [(String, String)]) async throws
    {
        let request = try Self.request(fields, from: "10.1.0.1")
        await #expect(throws: CallerRefusal.self) { try await Self.proxy().caller(of: request) }
    }

    @Test(arguments: ["", "10.0.0.0/33", "10.0.0.1/8", "10.0.0", "example.com", "::/129", "10.0.0.0/", "1.2.3.4/-1"])
    func `a range that cannot be meant is an error`(text: String) {
        #expect(throws: ConfigurationError.self) { try AddressRange(text) }
    }

    @Test func `a proxy that could be anybody is an error`() {
        for peers in [[], ["0.0.0.0/0"], ["10.0.0.1", "::/0"]] {
            #expect(throws: TokenServerError.self) {
                try TrustedProxyAuthenticator(
                    label: "gate", peers: try peers.map { try AddressRange($0) }, subjectHeader: "X-User")
            }
        }
        for (label, header) in [("gate", "Authorization"), ("", "X-User")] {
            #expect(throws: TokenServerError.self) {
                try TrustedProxyAuthenticator(label: label, peers: [try AddressRange("::1")], subjectHeader: header)
            }
        }
    }

    @Test(arguments: [
        (["X-Groups": "groups", "X-Teams": "groups"], "has two headers for the claim \"groups\""),
        (["X-Name": "sub"], "has two headers for the claim \"sub\""),
        (["X-Groups": "groups", "x-groups": "teams"], "twice; let it hold one claim"),
    ])
    func `a claim that two headers give, and a header for two claims, is an error`(
        claimHeaders: [String: String], message: String
    ) {
        let error = #expect(throws: TokenServerError.self) {
            try TrustedProxyAuthenticator(
                label: "gate", peers: [try AddressRange("::1")], subjectHeader: "X-User", claimHeaders: claimHeaders)
        }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "no error")")
    }

    // MARK: - Certificates

    @Test func `a verified certificate names its caller`() async throws {
        let authenticator = try ClientCertificateAuthenticator(entries: [
            .init(identity: .uri("spiffe://acme/dispatch"), name: "dispatch", roles: [.driver]),
            .init(identity: .dnsName("billing.acme"), name: "billing"),
            .init(identity: .fingerprint("ab"), name: "pinned"),
            .init(identity: .subject("CN=Kim"), name: "kim"),
        ])
        func caller(_ certificate: ClientCertificate?) async throws -> Caller? {
            try await authenticator.caller(of: CallerRequest(headers: [:], clientCertificate: certificate))
        }
        let dispatch = try await caller(ClientCertificate(uris: ["spiffe://acme/dispatch"], fingerprint: "cd"))
        #expect(dispatch == Caller(name: "dispatch", issuer: "certificate", roles: [.driver]))
        #expect(try await caller(ClientCertificate(fingerprint: "ab"))?.name == "pinned")
        #expect(try await caller(ClientCertificate(uris: ["billing.acme"], fingerprint: "cd")) == nil)
        #expect(try await caller(ClientCertificate(subject: "CN=Kim", fingerprint: "cd"))?.name == "kim")
        #expect(try await caller(ClientCertificate(subject: "CN=\u{212A}im", fingerprint: "cd")) == nil)
        #expect(try await caller(nil) == nil)
        let both = ClientCertificate(
            uris: ["spiffe://acme/dispatch"], dnsNames: ["billing.acme"], fingerprint: "cd")
        await #expect(throws: CallerRefusal.self) { try await caller(both) }
        #expect(throws: TokenServerError.self) {
            try ClientCertificateAuthenticator(entries: [
                .init(identity: .uri("a"), name: "a"), .init(identity: .uri("a"), name: "b"),
            ])
        }
    }

    @Test func `case plays no part in a certificate's DNS name, but of ASCII's letters alone`() async throws {
        let entries = ["Dispatch.Acme", "kim.acme"].map {
            ClientCertificateAuthenticator.Entry(identity: .dnsName($0), name: $0)
        }
        let authenticator = try ClientCertificateAuthenticator(entries: entries)
        func caller(_ certificate: ClientCertificate) async throws -> String? {
            try await authenticator.caller(of: CallerRequest(headers: [:], clientCertificate: certificate))?.name
        }
        for name in ["dispatch.acme", "DISPATCH.ACME", "Dispatch.Acme"] {
            #expect(try await caller(ClientCertificate(dnsNames: [name], fingerprint: "cd")) == "Dispatch.Acme")
        }
        #expect(try await caller(ClientCertificate(dnsNames: ["\u{212A}im.acme"], fingerprint: "cd")) == nil)
        let entry = ClientCertificateAuthenticator.Entry(identity: .uri("spiffe://acme/dispatch"), name: "dispatch")
        let uris = try ClientCertificateAuthenticator(entries: [entry])
        let other = ClientCertificate(uris: ["spiffe://acme/Dispatch"], fingerprint: "cd")
        #expect(try await uris.caller(of: CallerRequest(headers: [:], clientCertificate: other)) == nil)
        #expect(throws: TokenServerError.self) {
            try ClientCertificateAuthenticator(entries: [
                .init(identity: .dnsName("a.acme"), name: "a"), .init(identity: .dnsName("A.acme"), name: "b"),
            ])
        }
    }

    @Test(
        arguments: [(-1, .notYetValid), (0, nil), (86_400, nil), (86_401, .expired)] as [(Int, CallerRefusal.Reason?)])
    func `a certificate is judged by the time of each request, however old its connection is`(
        second: Int, reason: CallerRefusal.Reason?
    ) async throws {
        let authenticator = try ClientCertificateAuthenticator(
            entries: [.init(identity: .dnsName("dispatch.acme"), name: "dispatch")],
            now: { Self.start + TimeInterval(second) })
        func caller(_ name: String) async throws -> Caller? {
            let der = try self.certificate(DistinguishedName(), names: [.dnsName(name)])
            return try await authenticator.caller(
                of: CallerRequest(headers: [:], clientCertificate: try ClientCertificate(der: der)))
        }
        if let reason {
            let refusal = await #expect(throws: CallerRefusal.self) { try await caller("dispatch.acme") }
            #expect(refusal?.reason == reason)
        } else {
            #expect(try await caller("dispatch.acme")?.name == "dispatch")
        }
        // Whose is nobody's may have another credential.
        #expect(try await caller("billing.acme") == nil)
    }

    /// Since when and until when the certificates below are valid: a day.
    private static let start = Date(timeIntervalSince1970: 1_767_225_600)
    private static let end = Self.start + 86_400

    /// The DER form of a certificate.
    private func certificate(_ subject: DistinguishedName, names: [GeneralName] = []) throws -> [UInt8] {
        let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
        let certificate = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: key.publicKey, notValidBefore: Self.start,
            notValidAfter: Self.end, issuer: subject, subject: subject, signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                if !names.isEmpty { SubjectAlternativeNames(names) }
            }, issuerPrivateKey: key)
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }

    @Test func `a certificate's subject counts as a whole, whatever its parts hold`() async throws {
        let entry = ClientCertificateAuthenticator.Entry(
            identity: .subject("CN=dispatch,O=Acme"), name: "dispatch", roles: [.driver])
        let authenticator = try ClientCertificateAuthenticator(entries: [entry], now: { Self.start })
        func isKnown(_ subject: DistinguishedName) async throws -> Bool {
            let certificate = try ClientCertificate(der: try self.certificate(subject))
            return try await authenticator.caller(of: CallerRequest(headers: [:], clientCertificate: certificate))
                != nil
        }
        let whole = try DistinguishedName {
            OrganizationName("Acme")
            CommonName("dispatch")
        }
        #expect(try await isKnown(whole))
        let others = [
            try DistinguishedName { CommonName("dispatch") },
            try DistinguishedName { CommonName("dispatch,O=Acme") },
            try DistinguishedName {
                CommonName("dispatch")
                OrganizationName("Acme")
            },
            try DistinguishedName {
                CountryName("DE")
                OrganizationName("Acme")
                CommonName("dispatch")
            },
            DistinguishedName(),
        ]
        for subject in others { #expect(try await !isKnown(subject), "\(subject)") }
    }

    @Test func `a certificate's names are its alternative names and its whole subject`() async throws {
        let der = try self.certificate(
            try DistinguishedName { CommonName("spiffe://acme/billing") },
            names: [
                .uniformResourceIdentifier("spiffe://acme/dispatch"), .dnsName("dispatch.acme"), .rfc822Name("a@acme"),
            ])
        let digest = SHA256.hash(data: der).map { String(format: "%02x", $0) }.joined()
        let expected = ClientCertificate(
            uris: ["spiffe://acme/dispatch"], dnsNames: ["dispatch.acme"], subject: "CN=spiffe://acme/billing",
            fingerprint: digest, notBefore: Self.start, notAfter: Self.end)
        #expect(try ClientCertificate(der: der) == expected)
        for cut in [0, 1, der.count / 2, der.count - 1] {
            #expect(throws: CallerRefusal.self) { try ClientCertificate(der: Array(der.prefix(cut))) }
        }
    }

    // MARK: - Static secrets

    @Test func `a made secret opens its entry, and only that`() async throws {
        let made = (0..<2).map { _ in StaticBearerAuthenticator.makeSecret() }
        #expect(made[0].secret != made[1].secret && made[0].salt != made[1].salt)
        let entries = made.enumerated().map {
            #"{"name":"c\#($0)","salt":"\#($1.salt)","secret_sha256":"\#($1.digest)","roles":["driver"]}"#
        }
        let authenticator = try StaticBearerAuthenticator(
            json: Data(#"{"callers":[\#(entries.joined(separator: ","))]}"#.utf8))
        for (index, entry) in made.enumerated() {
            let caller = try await authenticator.caller(of: IdentityProvider.request(entry.secret))
            #expect(caller == Caller(name: "c\(index)", issuer: "static", roles: [.driver]))
        }
        for wrong in [made[0].secret + "A", String(made[0].secret.dropLast()), made[0].digest, made[0].salt, "x"] {
            let refusal = await #expect(throws: CallerRefusal.self) {
                try await authenticator.caller(of: IdentityProvider.request(wrong))
            }
            #expect(refusal?.reason == .unknown)
            #expect(refusal.map { "\($0)".contains(wrong) } == (wrong == "x" ? nil : false) || wrong == "x")
        }
        let token = try IdentityProvider.token(key: .p256(.init()))
        #expect(try await authenticator.caller(of: IdentityProvider.request(token)) == nil)
    }

    @Test(arguments: ["müller", "", "a\nb", "a\u{7F}", String(repeating: "x", count: 256)])
    func `a caller's name that nothing can be withdrawn by is an error`(name: String) {
        let entry: JSONObject = [
            "name": .string(name), "secret_sha256": .string(String(repeating: "ab", count: 32)),
            "roles": .array([.string("driver")]),
        ]
        let file = Data(JSONValue.object(["callers": .array([.object(entry)])]).serialized)
        let error = #expect(throws: TokenServerError.self) { try StaticBearerAuthenticator(json: file) }
        #expect(error?.message.contains("printable ASCII characters") == true)
        let refused = #expect(throws: TokenServerError.self) {
            try ClientCertificateAuthenticator(entries: [.init(identity: .uri("spiffe://acme/x"), name: name)])
        }
        #expect(refused?.message.contains("printable ASCII characters") == true)
    }

    @Test(arguments: PolicyTarget.roles)
    func `a caller with a secret can have any role whose tokens are given`(role: Role) async throws {
        let made = StaticBearerAuthenticator.makeSecret()
        let entry = #"{"name":"app","salt":"\#(made.salt)","secret_sha256":"\#(made.digest)","roles":["\#(role)"]}"#
        let authenticator = try StaticBearerAuthenticator(json: Data(#"{"callers":[\#(entry)]}"#.utf8))
        #expect(try await authenticator.caller(of: IdentityProvider.request(made.secret))?.roles == [role])
    }

    @Test(arguments: [(nil, "admin"), ([Role.driver, .fleetReader], "static")] as [([Role]?, String)])
    func `an entry that was made lets in its own secret`(roles: [Role]?, issuer: String) async throws {
        func make() throws -> (secret: String, file: Data) {
            let made = try StaticBearerAuthenticator.makeEntry(named: "a \"b\"", roles: roles?.map(\.rawValue))
            return (made.secret, try JSONEncoder().encode(["callers": [made.entry]]))
        }
        let (secret, file) = try make()
        let authenticator =
            try roles == nil
            ? StaticBearerAuthenticator(administrators: file) : StaticBearerAuthenticator(json: file)
        let caller = try #require(try await authenticator.caller(of: IdentityProvider.request(secret)))
        #expect(caller.name == "a \"b\"" && caller.issuer == issuer && caller.roles == Set(roles ?? []))
        let another = IdentityProvider.request(try make().secret)
        await #expect(throws: CallerRefusal.self) { try await authenticator.caller(of: another) }
    }

    static let salt = String(repeating: "ab", count: 16)

    @Test(arguments: [
        (#""secret_sha256": "zz", "roles": ["driver"]"#, "the SHA-256 of the secret, and fleetpass callers new makes"),
        (#""salt": "\#(salt)", "secret_sha256": "zz", "roles": ["driver"]"#, "of the salt's bytes and the secret, and"),
        (#""salt": "\#(salt)", "secret_sha256": "\#(salt)", "roles": ["driver"]"#, "is not 64 hexadecimal digits"),
        (#""slat": "\#(salt)", "secret_sha256": "\#(salt + salt)", "roles": ["driver"]"#, #"a member "slat""#),
        (#""rols": 7, "secret_sha256": "\#(salt + salt)", "roles": ["driver"]"#, #"a member "rols""#),
    ])
    func `a mistake in an entry is told with what helps`(members: String, message: String) {
        let error = #expect(throws: TokenServerError.self) {
            try StaticBearerAuthenticator(json: Data(#"{"callers":[{"name":"app",\#(members)}]}"#.utf8))
        }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "no error")")
        #expect(error?.message.contains(#""app""#) == true)
    }

    @Test(arguments: [
        (
            #""name":"app","secret_sha256":"\#(salt + salt)","secret_sha256":"\#(salt + salt)","roles":["driver"]"#,
            "secret_sha256"
        ),
        (#""name":"app","secret_sha256":"\#(salt + salt)","roles":["driver"],"roles":["consumer"]"#, "roles"),
    ])
    func `a member that stands twice is an error, as one of them would not count`(members: String, name: String) {
        let error = #expect(throws: TokenServerError.self) {
            try StaticBearerAuthenticator(json: Data(#"{"callers":[{\#(members)}]}"#.utf8))
        }
        #expect(error?.message.contains(#"the key "\#(name)" stands twice"#) == true, "\(error?.message ?? "no error")")
    }

    @Test(arguments: [
        (#""callers":[\#(entry)],"callers":[\#(entry)]"#, #"the key "callers" stands twice"#),
        (#""calers":[],"callers":[\#(entry)]"#, #"has a member "calers" beside callers"#),
        (#""callers":{}"#, "is not of the form"), (#""callers":[7]"#, "is not of the form"),
        (#""callers":[{"name":"app","roles":["driver"]}]"#, "is not of the form"),
        (#""callers":[{"name":"app","secret_sha256":"\#(salt + salt)","roles":["driver",7]}]"#, "is not of the form"),
        (
            #""callers":[{"name":"app","salt":null,"secret_sha256":"\#(salt + salt)","roles":["driver"]}]"#,
            "is not of the form"
        ),
        (#""callers":[]"#, "names 0 callers"),
    ])
    func `what a file of callers has besides is an error`(members: String, message: String) {
        let error = #expect(throws: TokenServerError.self) {
            try StaticBearerAuthenticator(json: Data("{\(members)}".utf8))
        }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "no error")")
    }

    static let entry = #"{"name":"app","salt":"\#(salt)","secret_sha256":"\#(salt + salt)","roles":["driver"]}"#

    @Test(arguments: [(23, false), (24, true), (1024, true), (1025, false)])
    func `a secret has 24 to 1024 bytes`(count: Int, isKnown: Bool) async throws {
        let secret = String(repeating: "s", count: count)
        let digest = SHA256.hash(data: Data(secret.utf8)).map { String(format: "%02x", $0) }.joined()
        let entry = #"{"name":"app","secret_sha256":"\#(digest)","roles":["driver"]}"#
        let authenticator = try StaticBearerAuthenticator(json: Data(#"{"callers":[\#(entry)]}"#.utf8))
        let caller = try? await authenticator.caller(of: IdentityProvider.request(secret))
        #expect((caller != nil) == isKnown)
    }

    @Test(arguments: [(1000, 1, true), (1001, 1, false), (2, 2, false)])
    func `a callers' file has up to 1000 names, each once`(entries: Int, ofEach: Int, isTaken: Bool) throws {
        let digest = String(repeating: "ab", count: 32)
        let texts = (0..<entries).map {
            #"{"name":"app-\#($0 / ofEach)","secret_sha256":"\#(digest)","roles":["driver"]}"#
        }
        let file = Data(#"{"callers":[\#(texts.joined(separator: ","))]}"#.utf8)
        if isTaken {
            #expect(try StaticBearerAuthenticator(json: file).knownCallers.count == entries)
        } else {
            #expect(throws: TokenServerError.self) { try StaticBearerAuthenticator(json: file) }
        }
    }

    @Test(arguments: [
        "zz", "ab", String(repeating: "ab", count: 15), String(repeating: "a", count: 33),
        String(repeating: "ab", count: 65),
    ])
    func `a salt that is none is an error`(salt: String) {
        let digest = String(repeating: "ab", count: 32)
        let json = #"{"callers":[{"name":"a","salt":"\#(salt)","secret_sha256":"\#(digest)","roles":["driver"]}]}"#
        #expect(throws: TokenServerError.self) { try StaticBearerAuthenticator(json: Data(json.utf8)) }
    }
}

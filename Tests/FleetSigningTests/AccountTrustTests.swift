// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import CryptoExtras
import FleetTestSupport
import FleetTokens
import Foundation
import Testing

@testable import FleetSigning

/// A place where an account's keys are published, as long as it is up.
private final class Publisher: UpstreamTransport {
    struct State {
        var keys: [RSAPublicKey]
        /// What is published in place of the keys, if anything.
        var document: [UInt8]?
        /// The keys that are published at other addresses.
        var elsewhere: [String: [RSAPublicKey]] = [:]
        var maximumAge = 3600
        var isUp = true
        /// Whether what is asked for from now on is answered when ``held`` is resumed.
        var isSlow = false
        var held: CheckedContinuation<Void, Never>?
        var now = Date(timeIntervalSince1970: 1_767_225_600)
        var fetches = 0
    }

    let state: Locked<State>
    let clock = ManualClock()

    init(_ keys: [RSAPublicKey]) {
        self.state = Locked(State(keys: keys))
    }

    var now: Date { self.state.withLock { $0.now } }
    var fetches: Int { self.state.withLock { $0.fetches } }

    func wait(_ seconds: TimeInterval) {
        self.state.withLock { $0.now += seconds }
        self.clock.advance(by: .seconds(seconds))
    }

    func send(_ request: UpstreamRequest) async throws -> UpstreamResponse {
        if self.state.withLock({ $0.isSlow }) {
            await withCheckedContinuation { continuation in self.state.withLock { $0.held = continuation } }
        }
        return self.state.withLock { state in
            state.fetches += 1
            guard state.isUp else { return UpstreamResponse(status: 500) }
            return UpstreamResponse(
                status: 200, headers: [("Cache-Control", "max-age=\(state.maximumAge)")],
                body: state.document ?? JWKS.write(state.elsewhere[request.url] ?? state.keys))
        }
    }
}

@Suite struct AccountTrustTests {
    private static let email = "backend@acme.iam.gserviceaccount.com"
    private let own: ServiceAccountKey
    private let first: ServiceAccountKey
    private let second: ServiceAccountKey
    private let publisher: Publisher
    private let trust: AccountTrust

    init() throws {
        self.own = try ServiceAccountKey(generatingFor: "own@acme", projectID: "acme")
        self.first = try ServiceAccountKey(generatingFor: Self.email, projectID: "acme")
        self.second = try ServiceAccountKey(generatingFor: Self.email, projectID: "acme")
        let publisher = Publisher([try self.first.publicKey()])
        self.publisher = publisher
        self.trust = try Self.trust(publisher, own: [try self.own.publicKey()])
    }

    private static func trust(
        _ publisher: Publisher, own: [RSAPublicKey] = [], beside others: [TrustedAccountSource] = []
    ) throws -> AccountTrust {
        let account = TrustedAccount(email: Self.email, role: .server, provider: ProviderID("acme"))
        let source = TrustedAccountSource(account: account, keys: .address("https://keys.example/backend"))
        return try AccountTrust(
            [source] + others, transport: publisher, verifier: TokenVerifier(keys: TrustedKeySet(own)),
            clock: publisher.clock, now: { publisher.now })
    }

    @Test func `a key file that is gone is told in the same words each time`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).pem")
        let account = TrustedAccount(email: "file@acme", role: .server, provider: ProviderID("acme"))
        let path = file.path(percentEncoded: false)
        let trust = try Self.trust(self.publisher, beside: [.init(account: account, keys: .file(path))])
        var told: Set<String> = []
        for _ in 0..<5 {
            await trust.refresh()
            told.insert(try #require(trust.failures["file@acme"]))
            self.publisher.wait(3600)
        }
        #expect(told.count == 1)
        #expect(told.first?.contains("\(path) cannot be read: ") == true && told.first?.contains("NSError") == false)
        #expect(told.first?.contains("Domain") == false)
        // A folder in its place is told as what it is.
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: file) }
        await trust.refresh()
        #expect(trust.failures["file@acme"]?.contains("\(path) cannot be read: Is a directory") == true)
    }

    /// A place where the first key is published in a certificate that ends in a day.
    private func certificatePublisher() throws -> Publisher {
        let document = try self.certificate(days: 1)
        let publisher = Publisher([])
        publisher.state.withLock { state in
            state.document = document
            state.now = Date() + 5
        }
        return publisher
    }

    /// The first key in a certificate that is good from now, as Google publishes it.
    private func certificate(days: Int) throws -> [UInt8] {
        let file = FileManager.default.temporaryDirectory.appending(path: "fleetpass-\(UUID().uuidString).pem")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(self.pem(of: self.first).utf8).write(to: file)
        let certificate = try KeyReadingTests().openSSL(
            ["req", "-x509", "-key", file.path(percentEncoded: false), "-subj", "/CN=backend", "-days", "\(days)"])
        return JSONValue.object([
            self.first.keyID: .string(String(decoding: certificate, as: UTF8.self))
        ]).serialized
    }

    @Test func `a key without an id of its own checks its account's tokens, whatever id they name`() async throws {
        let account = TrustedAccount(email: Self.email, role: .server, provider: ProviderID("acme"))
        let pem = self.first.privateKey.publicKey.pemRepresentation
        let keys = try TrustedKeySet.read(Data(pem.utf8), named: Self.email).map { try $0.bound(to: account) }
        let verifier = TokenVerifier(keys: TrustedKeySet(keys + [try self.own.publicKey()]))
        let token = try await self.mint(with: self.first)
        #expect(try verifier.verify(token, at: self.publisher.now).keyID == self.first.keyID)
        let other = try await self.mint(with: self.second)
        #expect(throws: TokenRefusal.self) { try verifier.verify(other, at: self.publisher.now) }
        // Another account's key of that id is not in its way, nor is the very key there.
        for key in [self.own, self.first] {
            let copy = try self.copy(of: key, named: self.first.keyID)
            let crowded = TokenVerifier(keys: TrustedKeySet([copy] + keys))
            #expect(try crowded.verify(token, at: self.publisher.now).account == account)
        }
    }

    /// A key as another account publishes it, under an id of its choice.
    private func copy(of key: ServiceAccountKey, named id: String) throws -> RSAPublicKey {
        try ServiceAccountKey(pem: self.pem(of: key), account: "other@acme", keyID: id).publicKey()
    }

    private func mint(with key: ServiceAccountKey) async throws -> String {
        try await TokenMinter(signer: try LocalSigner(key)).mint(TokenType.server.claims, at: self.publisher.now)
            .token.compactSerialization
    }

    private func refusal(of token: String, by trust: AccountTrust? = nil) -> TokenRefusal.Reason? {
        do throws(TokenRefusal) {
            _ = try (trust ?? self.trust).verifier.verify(token, at: self.publisher.now)
            return nil
        } catch {
            return error.reason
        }
    }

    @Test func `an account's published keys are trusted with its role, beside the verifier's own`() async throws {
        let token = try await self.mint(with: self.first)
        #expect(self.refusal(of: token) == .keyUnknown)
        #expect(self.trust.problem == "no keys of \(Self.email) (not fetched yet)")
        await self.trust.refresh()
        #expect(self.trust.problem == nil)
        let examined = try self.trust.verifier.verify(token, at: self.publisher.now)
        #expect(examined.account.role == .server)
        #expect(examined.account.provider?.value == "acme")
        #expect(self.refusal(of: try await self.mint(with: self.own)) == nil)
        await self.trust.refresh()
        #expect(self.publisher.fetches == 1)
    }

    private func trust(_ first: TrustedAccountSource.Keys, _ second: TrustedAccountSource.Keys) throws(SigningError) {
        let sources = [("a@acme", first), ("b@acme", second)].map { email, keys in
            TrustedAccountSource(
                account: TrustedAccount(email: email, role: .server, provider: ProviderID("acme")), keys: keys)
        }
        _ = try AccountTrust(sources, transport: self.publisher, verifier: TokenVerifier(keys: TrustedKeySet([])))
    }

    @Test(arguments: [
        ("https://keys.example/all", "https://keys.example/all"), ("http://localhost/x", "http://localhost/x?"),
        ("https://keys.example", "HTTPS://Keys.Example:443/"), ("http://[::1]:80/x?y=1", "http://[::1]/x?y=1"),
    ])
    func `two accounts cannot have one set of keys`(first: String, second: String) throws {
        let error = #expect(throws: SigningError.self) { try self.trust(.address(first), .address(second)) }
        #expect(error?.code == .invalidKeySet)
        #expect(error?.message.contains("a@acme and b@acme") == true)
    }

    @Test func `addresses that differ in what a server may tell apart are of two sets`() throws {
        let first = "https://keys.example/x"
        for second in ["/X", "/x/", "/x?y", ":444/x"] {
            try self.trust(.address(first), .address("https://keys.example\(second)"))
        }
        try self.trust(.address("http://localhost/x"), .address("https://localhost/x"))
    }

    @Test func `two accounts cannot have one file of keys, by whatever path`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.path(percentEncoded: false)
        try Data(self.pem(of: self.first).utf8).write(to: folder.appending(path: "e.pem"))
        try FileManager.default.createSymbolicLink(
            at: folder.appending(path: "link.pem"), withDestinationURL: folder.appending(path: "e.pem"))
        for other in ["\(path)/link.pem", "\(path)/none/../e.pem", "\(path)//e.pem"] {
            let error = #expect(throws: SigningError.self, "\(other)") {
                try self.trust(.file("\(path)/e.pem"), .file(other))
            }
            #expect(error?.message.contains("a@acme and b@acme") == true)
        }
        try self.trust(.file("\(path)/e.pem"), .file("\(path)/f.pem"))
    }

    @Test func `keys that a call had fetched meanwhile are not let go of`() throws {
        let kept = AccountTrust.KeptKeys(1, verifier: TokenVerifier(keys: TrustedKeySet([])))
        let before = kept.fetches(at: 0)
        for _ in 1...2 { kept.put([try self.first.publicKey()], at: 0) }
        kept.drop(at: 0, after: before)
        kept.drop(at: 0, after: before + 1)
        #expect(!kept.isEmpty(at: 0))
        kept.drop(at: 0, after: kept.fetches(at: 0))
        #expect(kept.isEmpty(at: 0))
    }

    @Test func `whether there is a key cannot be known while fetches fail`() async throws {
        self.publisher.state.withLock { $0.isUp = false }
        let token = try await self.mint(with: self.first)
        let stranger = try ServiceAccountKey(generatingFor: "eve@evil", projectID: "evil")
        let strange = try await self.mint(with: stranger)
        #expect(await self.trust.learnKey(of: token) == .unavailable)
        #expect(await self.trust.learnKey(of: strange) == .unknown)
        self.publisher.state.withLock { $0.isUp = true }
        self.publisher.wait(60)
        #expect(await self.trust.learnKey(of: token) == .found)
        // A set that cannot be renewed tells of the keys that it has alone.
        self.publisher.state.withLock { $0.isUp = false }
        self.publisher.wait(3600)
        await self.trust.refresh()
        #expect(await self.trust.learnKey(of: token) == .found)
        #expect(await self.trust.learnKey(of: try await self.mint(with: self.second)) == .unavailable)
    }

    @Test func `a call waits a second for a publisher that is slow, and no longer`() async throws {
        await self.trust.refresh()
        self.publisher.state.withLock { $0.isSlow = true }
        let (trust, token) = (self.trust, try await self.mint(with: self.second))
        async let asked = trust.learnKey(of: token)
        await self.publisher.clock.waitForSleepers(1)
        self.publisher.wait(1)
        #expect(await asked == .unavailable)
        // Tokens with keys at hand wait for nothing.
        #expect(await trust.learnKey(of: try await self.mint(with: self.first)) == .found)
        while self.publisher.state.withLock({ $0.held }) == nil { await Task.yield() }
        self.publisher.state.withLock { $0.held }?.resume()
    }

    @Test func `whether there is a key cannot be known once its certificate ended and no other can be had`()
        async throws
    {
        let publisher = try self.certificatePublisher()
        let trust = try Self.trust(publisher)
        await trust.refresh()
        let token = try await self.mint(with: self.first)
        #expect(await trust.learnKey(of: token) == .found)
        publisher.state.withLock { $0.isUp = false }
        publisher.wait(86_500)
        await trust.refresh()
        #expect(await trust.learnKey(of: token) == .unavailable)
    }

    @Test func `a new key is asked for when a token names it, at most once in half a minute`() async throws {
        await self.trust.refresh()
        let token = try await self.mint(with: self.second)
        #expect(await self.trust.learnKey(of: token) == .unknown)
        #expect(await self.trust.learnKey(of: token) == .unknown)
        #expect(self.publisher.fetches == 2)
        let keys = [try self.first.publicKey(), try self.second.publicKey()]
        self.publisher.state.withLock { $0.keys = keys }
        self.publisher.wait(30)
        #expect(await self.trust.learnKey(of: token) == .found)
        #expect(self.publisher.fetches == 3)
        #expect(self.refusal(of: token) == nil)
    }

    @Test func `a key's id in another account's set keeps nobody from learning the account's own key`() async throws {
        let account = TrustedAccount(email: "other@acme", role: .server, provider: ProviderID("acme"))
        let source = TrustedAccountSource(account: account, keys: .address("https://keys.example/other"))
        let next = try self.second.publicKey()
        let token = try await self.mint(with: self.second)
        let cases: [(ServiceAccountKey, TokenRefusal.Reason)] = [
            (self.own, .keyUnknown), (self.second, .issuerMismatch),
        ]
        for (key, reason) in cases {
            let publisher = Publisher([try self.first.publicKey()])
            let copy = try self.copy(of: key, named: self.second.keyID)
            publisher.state.withLock { $0.elsewhere["https://keys.example/other"] = [copy] }
            let trust = try Self.trust(publisher, beside: [source])
            await trust.refresh()
            #expect(self.refusal(of: token, by: trust) == reason)
            publisher.state.withLock { $0.keys.append(next) }
            #expect(await trust.learnKey(of: token) == .found)
            #expect(self.refusal(of: token, by: trust) == nil)
            #expect(publisher.fetches == 3)
        }
    }

    @Test func `a stranger's token, or one that is none, makes nobody ask`() async throws {
        await self.trust.refresh()
        let stranger = try ServiceAccountKey(generatingFor: "eve@evil", projectID: "evil")
        #expect(await self.trust.learnKey(of: try await self.mint(with: stranger)) == .unknown)
        #expect(await self.trust.learnKey(of: "x.y.z") == .unknown)
        #expect(self.publisher.fetches == 1)
    }

    @Test func `an account's keys check no other account's tokens`() async throws {
        await self.trust.refresh()
        let forged = try ServiceAccountKey(
            pem: self.pem(of: self.first), account: "admin@acme.iam.gserviceaccount.com", keyID: self.first.keyID)
        #expect(self.refusal(of: try await self.mint(with: forged)) == .issuerMismatch)
    }

    @Test func `keys stay while fetches fail, a day beyond their end and no longer`() async throws {
        await self.trust.refresh()
        self.publisher.state.withLock { $0.isUp = false }
        self.publisher.wait(3600 + 86_000)
        await self.trust.refresh()
        await self.trust.refresh()
        #expect(self.refusal(of: try await self.mint(with: self.first)) == nil)
        self.publisher.wait(1000)
        await self.trust.refresh()
        #expect(self.refusal(of: try await self.mint(with: self.first)) == .keyUnknown)
        #expect(self.trust.problem?.contains("was answered with 500") == true)
        self.publisher.state.withLock { $0.isUp = true }
        self.publisher.wait(61)
        await self.trust.refresh()
        #expect(self.refusal(of: try await self.mint(with: self.first)) == nil)
    }

    @Test(arguments: [#"{"keys":[]}"#, "{}", "\u{FEFF}{}"])
    func `a set without entries withdraws an account's keys, until it has some again`(document: String) async throws {
        await self.trust.refresh()
        self.publisher.state.withLock { $0.document = Array(document.utf8) }
        self.publisher.wait(3600)
        await self.trust.refresh()
        let token = try await self.mint(with: self.first)
        #expect(self.refusal(of: token) == .keyUnknown)
        #expect(self.trust.problem == "no keys of \(Self.email) (its key set is empty)")
        #expect(self.trust.failures.isEmpty)
        #expect(self.publisher.fetches == 2)
        for _ in 0..<3 { #expect(await self.trust.learnKey(of: token) == .unknown) }
        #expect(self.publisher.fetches == 3)
        self.publisher.state.withLock { $0.document = nil }
        self.publisher.wait(30)
        #expect(await self.trust.learnKey(of: token) == .found)
        #expect(self.refusal(of: token) == nil)
        #expect(self.trust.problem == nil)
    }

    @Test func `what is no set, or has no entry of use, withdraws nothing`() async throws {
        let token = try await self.mint(with: self.first)
        for document in ["", "[]", #"{"keys":{}}"#, #"{"keys":[{"kty":"EC"}]}"#, #"{"error":"busy"}"#] {
            let publisher = Publisher([try self.first.publicKey()])
            let trust = try Self.trust(publisher)
            await trust.refresh()
            publisher.state.withLock { $0.document = Array(document.utf8) }
            publisher.wait(3600)
            await trust.refresh()
            #expect(publisher.fetches == 2)
            #expect(trust.failures[Self.email] != nil, "\(document)")
            #expect(self.refusal(of: token, by: trust) == nil, "\(document)")
        }
    }

    @Test func `keys that cannot be renewed are a problem once their set is well past its end`() async throws {
        await self.trust.refresh()
        #expect(self.trust.failures.isEmpty && self.trust.age == .zero)
        self.publisher.state.withLock { $0.isUp = false }
        self.publisher.wait(3600)
        await self.trust.refresh()
        #expect(self.trust.problem == nil)
        #expect(self.trust.failures[Self.email]?.contains("was answered with 500") == true)
        #expect(self.trust.age == .seconds(3600))
        self.publisher.wait(599)
        #expect(self.trust.problem == nil)
        self.publisher.wait(1)
        #expect(self.trust.problem?.hasPrefix("only old keys of \(Self.email) (") == true)
        #expect(self.trust.problem?.contains("was answered with 500") == true)
        #expect(self.refusal(of: try await self.mint(with: self.first)) == nil)
        self.publisher.state.withLock { $0.isUp = true }
        self.publisher.wait(86_400)
        await self.trust.refresh()
        #expect(self.trust.problem == nil && self.trust.failures.isEmpty && self.trust.age == .zero)
    }

    @Test func `a certificate's key is good until the certificate ends, whether or not it can be renewed`()
        async throws
    {
        let publisher = try self.certificatePublisher()
        let trust = try Self.trust(publisher)
        await trust.refresh()
        let minter = TokenMinter(signer: try LocalSigner(self.first))
        func reason() async throws -> TokenRefusal.Reason? {
            let token = try await minter.mint(TokenType.server.claims, at: publisher.now).token
            do throws(TokenRefusal) {
                _ = try trust.verifier.verify(token.compactSerialization, at: publisher.now)
                return nil
            } catch {
                return error.reason
            }
        }
        #expect(try await reason() == nil)
        publisher.state.withLock { $0.isUp = false }
        publisher.wait(86_000)
        await trust.refresh()
        #expect(try await reason() == nil)
        publisher.wait(500)
        await trust.refresh()
        #expect(try await reason() == .keyUnknown)
        #expect(trust.problem?.hasPrefix("no keys of") == true)
    }

    @Test func `a key lives on in a certificate that ends later`() async throws {
        let publisher = try self.certificatePublisher()
        let trust = try Self.trust(publisher)
        await trust.refresh()
        let later = try self.certificate(days: 3)
        publisher.state.withLock { $0.document = later }
        publisher.wait(80_000)
        await trust.refresh()
        publisher.state.withLock { $0.isUp = false }
        publisher.wait(7000)
        await trust.refresh()
        #expect(trust.problem?.hasPrefix("only old keys of") == true)
        let token = try await TokenMinter(signer: try LocalSigner(self.first))
            .mint(TokenType.server.claims, at: publisher.now).token
        _ = try trust.verifier.verify(token.compactSerialization, at: publisher.now)
    }

    @Test func `a set is renewed by the end of the first of its certificates`() async throws {
        let publisher = try self.certificatePublisher()
        publisher.state.withLock { $0.maximumAge = 86_400 }
        publisher.wait(80_000)
        let trust = try Self.trust(publisher)
        await trust.refresh()
        publisher.wait(6400)
        await trust.refresh()
        #expect(publisher.fetches == 2)
    }

    private func pem(of key: ServiceAccountKey) throws -> String {
        try #require(JSONValue(parsing: key.keyFile).object?["private_key"]?.string)
    }
}

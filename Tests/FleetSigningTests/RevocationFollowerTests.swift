// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FleetTestSupport
import FleetTokens
import Foundation
import Testing

@testable import FleetSigning

/// A token server far away, whose answers a test chooses.
private final class Publisher: UpstreamTransport {
    struct State {
        var now = Date(timeIntervalSince1970: 1_767_225_600)
        var list: (text: [UInt8], tag: String?)?
        var keys: [RevocationKey]
        var requests: [String] = []
        /// What happens while the next answer is on its way.
        var meanwhile: (@Sendable () async -> Void)?
    }

    let state: Locked<State>
    let clock = ManualClock()

    init(_ key: RevocationKey) {
        self.state = Locked(State(keys: [key]))
    }

    func send(_ request: UpstreamRequest) async throws -> UpstreamResponse {
        let answer = self.answer(to: request)
        let meanwhile = self.state.withLock { state in
            defer { state.meanwhile = nil }
            return state.meanwhile
        }
        await meanwhile?()
        return answer
    }

    private func answer(to request: UpstreamRequest) -> UpstreamResponse {
        self.state.withLock { state in
            state.requests.append(request.url)
            if request.url.contains("/jwks.json") {
                let keys = state.keys.map { String(decoding: $0.published.dropFirst(9).dropLast(2), as: UTF8.self) }
                return UpstreamResponse(
                    status: 200, headers: [("Cache-Control", "max-age=300")],
                    body: Array(#"{"keys":[\#(keys.joined(separator: ","))]}"#.utf8))
            }
            guard let (text, tag) = state.list else { return UpstreamResponse(status: 503) }
            if let tag, request.headers.contains(where: { $0.name == "If-None-Match" && $0.value == tag }) {
                return UpstreamResponse(status: 304)
            }
            return UpstreamResponse(status: 200, headers: tag.map { [("ETag", $0)] } ?? [], body: text)
        }
    }

    var now: Date { self.state.withLock { $0.now } }
    var keyFetches: Int { self.state.withLock { $0.requests.filter { $0.contains("/jwks.json") }.count } }

    /// Lets time pass, or sets the date back.
    func wait(_ seconds: TimeInterval) {
        self.state.withLock { $0.now += seconds }
        self.clock.advance(by: .seconds(seconds))
    }

    func publish(_ text: String?, tag: String? = nil) {
        self.state.withLock { $0.list = text.map { (Array($0.utf8), tag) } }
    }
}

@Suite struct RevocationFollowerTests {
    private static let url = "https://tokens.example/.well-known/revocations"
    private let key = RevocationKey()
    private let publisher: Publisher
    private let list = RevocationList()
    private let follower: RevocationFollower
    private let signer: ServiceAccountKey
    private let verifier: TokenVerifier

    init() throws {
        let publisher = Publisher(self.key)
        self.publisher = publisher
        self.follower = try RevocationFollower(
            url: Self.url, transport: publisher, list: self.list, clock: publisher.clock, now: { publisher.now })
        self.signer = try ServiceAccountKey(generatingFor: "driver@acme", projectID: "acme")
        self.verifier = TokenVerifier(keys: TrustedKeySet([try self.signer.publicKey()]), revocations: self.list)
    }

    /// A follower of a list at another address.
    private func makeFollower(of url: String) throws -> RevocationFollower {
        let publisher = self.publisher
        return try RevocationFollower(
            url: url, transport: publisher, list: self.list, clock: publisher.clock, now: { publisher.now })
    }

    private func mint(vehicle: String = "veh-1") async throws -> FleetToken {
        let claims = try TokenType.driver(try VehicleID(checking: vehicle)).claims
        return try await TokenMinter(signer: try LocalSigner(self.signer)).mint(claims, at: self.publisher.now).token
    }

    private func isRevoked(_ token: FleetToken) -> Bool {
        do throws(TokenRefusal) {
            _ = try self.verifier.verify(token.compactSerialization, at: self.publisher.now)
            return false
        } catch {
            return error.reason == .tokenRevoked
        }
    }

    private func revocation(of token: FleetToken, lasting seconds: TimeInterval = 3600) -> Revocation {
        Revocation(kind: .fingerprint, value: token.fingerprint, endsAt: self.publisher.now + seconds)
    }

    private func signed(_ revocations: [Revocation], by key: RevocationKey? = nil) throws -> String {
        try SignedRevocations(revocations, at: self.publisher.now).signed(with: key ?? self.key)
    }

    /// A list of any header and payload, with a good signature.
    private func signed(header: String, payload: String) throws -> String {
        let input = [header, payload].map { RevocationKey.text(Array($0.utf8)) }.joined(separator: ".")
        return "\(input).\(RevocationKey.text(try self.key.signature(of: Array(input.utf8))))"
    }

    @Test func `what a list withdraws is refused until its end`() async throws {
        let token = try await self.mint()
        #expect(self.follower.problem == "no list of revocations was fetched yet")
        self.publisher.publish(try self.signed([self.revocation(of: token, lasting: 100)]), tag: "\"1\"")
        #expect(await self.follower.poll() == .applied(1))
        #expect(self.isRevoked(token))
        #expect(self.follower.problem == nil)
        #expect(await self.follower.poll() == .unchanged)
        self.publisher.wait(99)
        await self.follower.poll()
        #expect(self.isRevoked(token))
        self.publisher.wait(1)
        await self.follower.poll()
        #expect(!self.isRevoked(token))
    }

    @Test func `the last list stays in force while none can be had, and its age is told`() async throws {
        let token = try await self.mint()
        self.publisher.publish(try self.signed([self.revocation(of: token)]))
        await self.follower.poll()
        self.publisher.publish(nil)
        self.publisher.wait(119)
        #expect(await self.follower.poll() == .failed("The list's address answered with status 503."))
        #expect(self.follower.problem == nil)
        self.publisher.wait(1)
        await self.follower.poll()
        #expect(self.isRevoked(token))
        #expect(self.follower.age == .seconds(120))
        #expect(self.follower.problem?.hasPrefix("the list of revocations ended 60 s ago") == true)
        self.publisher.publish(try self.signed([]))
        #expect(await self.follower.poll() == .applied(0))
        #expect(self.follower.problem == nil)
        #expect(!self.isRevoked(token))
    }

    @Test func `a list that is too old is refused, sent again or said to be unchanged`() async throws {
        let token = try await self.mint()
        let old = try self.signed([])
        self.publisher.wait(1)
        self.publisher.publish(try self.signed([self.revocation(of: token)]), tag: "\"2\"")
        await self.follower.poll()
        self.publisher.wait(119)
        self.publisher.publish(old)
        #expect(await self.follower.poll() == .failed("The list is out of date."))
        #expect(self.isRevoked(token))
        self.publisher.publish("anything", tag: "\"2\"")
        #expect(await self.follower.poll() == .unchanged)
        self.publisher.wait(1)
        #expect(await self.follower.poll() == .failed("An old list was said to be the newest."))
    }

    @Test func `servers may answer in turn, and the newest of their lists stays in force`() async throws {
        let token = try await self.mint()
        let older = try self.signed([])
        self.publisher.wait(19)
        let newer = try self.signed([self.revocation(of: token)])
        self.publisher.publish(newer, tag: "\"2\"")
        #expect(await self.follower.poll() == .applied(1))
        for _ in 0..<3 {
            self.publisher.publish(older, tag: "\"1\"")
            #expect(await self.follower.poll() == .unchanged)
            #expect(self.isRevoked(token))
            #expect(self.follower.age == .zero)
            // By its tag it is still the newer one that is asked for.
            self.publisher.publish("anything", tag: "\"2\"")
            #expect(await self.follower.poll() == .unchanged)
        }
        // What goes on for too long is told all the same.
        self.publisher.publish(older, tag: "\"1\"")
        self.publisher.wait(101)
        #expect(await self.follower.poll() == .failed("The list is out of date."))
        #expect(self.follower.problem == nil)
        self.publisher.wait(19)
        #expect(self.follower.problem == "the list of revocations ended 60 s ago: The list is out of date.")
    }

    @Test func `a list from a time when the clocks were ahead gives way to the next, and stays in force until then`()
        async throws
    {
        let old = try await self.mint()
        self.publisher.wait(1)
        let new = try await self.mint()
        self.publisher.wait(7200)
        self.publisher.publish(try self.signed([self.revocation(of: old)]), tag: "\"1\"")
        #expect(await self.follower.poll() == .applied(1))
        self.publisher.wait(-7200)
        #expect(
            self.follower.problem == "the list of revocations is from 7200 s in the future: the clock was set back")
        // The publisher's clock is still ahead; its tag is not shown, which would bring a 304.
        #expect(await self.follower.poll() == .failed("The list is from the future; set the clocks."))
        #expect(
            self.follower.problem
                == "the list of revocations is from 7200 s in the future: The list is from the future; set the clocks.")
        #expect(self.isRevoked(old))
        self.publisher.publish(try self.signed([self.revocation(of: new)]), tag: "\"2\"")
        #expect(await self.follower.poll() == .applied(1))
        #expect(self.follower.problem == nil)
        #expect(self.isRevoked(new) && !self.isRevoked(old))
        #expect(await self.follower.poll() == .unchanged)
    }

    @Test func `a list that is ahead by no more than clocks differ is compared like any other`() async throws {
        let token = try await self.mint()
        self.publisher.wait(60)
        self.publisher.publish(try self.signed([self.revocation(of: token)]))
        await self.follower.poll()
        self.publisher.wait(-60)
        #expect(self.follower.problem == nil)
        self.publisher.publish(try self.signed([]))
        #expect(await self.follower.poll() == .unchanged)
        #expect(self.isRevoked(token))
    }

    @Test func `a list that arrives after a newer one is not put in force`() async throws {
        let token = try await self.mint()
        self.publisher.publish(try self.signed([]))
        #expect(await self.follower.poll() == .applied(0))
        let (publisher, follower) = (self.publisher, self.follower)
        publisher.wait(1)
        publisher.publish(try self.signed([]))
        publisher.wait(1)
        let newer = try self.signed([self.revocation(of: token)])
        publisher.state.withLock {
            $0.meanwhile = {
                publisher.publish(newer)
                #expect(await follower.poll() == .applied(1))
            }
        }
        #expect(await follower.poll() == .unchanged)
        #expect(self.isRevoked(token))
    }

    @Test func `a token is withdrawn by its whole digest, too`() async throws {
        let token = try await self.mint()
        let digest = SHA256.hash(data: Data(token.compactSerialization.utf8)).map { String(format: "%02x", $0) }
        self.list.replace(fingerprints: [digest.joined(), "no number"], keyIDs: [])
        #expect(self.isRevoked(token))
    }

    @Test func `a list that cannot be believed is not put in force`() async throws {
        let token = try await self.mint()
        let good = try self.signed([])
        self.publisher.publish(good)
        await self.follower.poll()
        let entry = #"{"kind":"fingerprint","value":"\#(token.fingerprint)","end":1767226000}"#
        let header = #"{"alg":"EdDSA","kid":"\#(self.key.id)","typ":"fleetpass-revocations+jwt"}"#
        func payload(_ entries: String, _ iat: Int = 1_767_225_600, _ exp: Int = 1_767_225_660) -> String {
            #"{"iat":\#(iat),"exp":\#(exp),"revocations":[\#(entries)]}"#
        }
        let named = try self.signed([self.revocation(of: token)])
        let parts = named.split(separator: ".")
        let empty = good.split(separator: ".")
        let rejects: [(String, String)] = [
            ("", "not a compact JWS"),
            ("a.b", "not a compact JWS"),
            ("\(empty[0]).\(parts[1]).\(empty[2])", "signature does not hold"),
            (try self.signed([self.revocation(of: token)], by: RevocationKey()), "a key that its server does not have"),
            (
                try self.signed(
                    header: header.replacing("fleetpass-revocations+jwt", with: "JWT"), payload: payload(entry)),
                "header is not that of a list"
            ),
            (
                try self.signed(header: header.replacing("EdDSA", with: "none"), payload: payload(entry)),
                "header is not that of a list"
            ),
            (
                try self.signed(header: #"{"alg":"EdDSA","typ":"fleetpass-revocations+jwt"}"#, payload: payload(entry)),
                "does not name its key"
            ),
            (token.compactSerialization, "header is not that of a list"),
            (try self.signed(header: header, payload: payload(entry, 1_767_225_400, 1_767_225_460)), "out of date"),
            (try self.signed(header: header, payload: payload(entry, 1_767_225_700, 1_767_225_760)), "from the future"),
            (try self.signed(header: header, payload: payload(entry, 1_767_225_600, 1_767_999_999)), "a near exp"),
            (
                try self.signed(header: header, payload: payload(entry.replacing("1767226000", with: "1767229300"))),
                "outlives every token"
            ),
            (
                try self.signed(header: header, payload: payload(entry.replacing("fingerprint", with: "other"))),
                "an entry that is none"
            ),
            (try self.signed(header: header, payload: "[]"), "not a JSON object"),
            (String(repeating: "a", count: SignedRevocations.maximumBytes + 1), "more than"),
        ]
        for (text, message) in rejects {
            self.publisher.publish(text)
            guard case .failed(let why) = await self.follower.poll() else {
                Issue.record("taken: \(text.prefix(200))")
                continue
            }
            #expect(why.contains(message))
            #expect(!self.isRevoked(token))
        }
        self.publisher.publish(try self.signed(header: header, payload: payload(entry)))
        #expect(await self.follower.poll() == .applied(1))
        #expect(self.isRevoked(token))
    }

    @Test func `what no token has is not listed, and keeps nothing else from being withdrawn`() async throws {
        let token = try await self.mint()
        let unusable = ["", String(repeating: "k", count: 257)].map {
            Revocation(kind: .key, value: $0, endsAt: self.publisher.now + 100)
        }
        let listed = SignedRevocations(unusable + [self.revocation(of: token)], at: self.publisher.now).revocations
        #expect(listed.map(\.value) == [token.fingerprint])
        // As earlier versions listed it.
        let entries = (unusable.map { ("key", $0.value) } + [("fingerprint", token.fingerprint)]).map {
            #"{"kind":"\#($0)","value":"\#($1)","end":1767226000}"#
        }
        self.publisher.publish(
            try self.signed(
                header: #"{"alg":"EdDSA","kid":"\#(self.key.id)","typ":"fleetpass-revocations+jwt"}"#,
                payload:
                    #"{"iat":1767225600,"exp":1767225660,"revocations":[\#(entries.joined(separator: ","))]}"#))
        #expect(await self.follower.poll() == .applied(1))
        #expect(self.isRevoked(token))
    }

    @Test func `printing an exchange shows neither header, query nor body`() {
        let request = UpstreamRequest(
            url: "https://keys.example/set?code=MARKED", headers: [("Authorization", "MARKED")],
            body: Array("MARKED".utf8))
        let response = UpstreamResponse(status: 200, body: Array("MARKED".utf8))
        var dumped = ""
        dump(request, to: &dumped)
        dump(response, to: &dumped)
        for print in ["\(request) \(response)", String(reflecting: request) + String(reflecting: response), dumped] {
            #expect(print.contains("keys.example/set") && print.contains("200, 6 bytes"))
            #expect(!print.contains("MARKED") && !print.contains("77"))
        }
    }

    @Test func `a list is no token`() async throws {
        let text = try self.signed([])
        #expect(throws: TokenRefusal.self) { try self.verifier.verify(text, at: self.publisher.now) }
    }

    @Test func `a bad signature fetches no keys, and an unknown key fetches them once in half a minute`() async throws {
        self.publisher.publish(try self.signed([]))
        await self.follower.poll()
        #expect(self.publisher.keyFetches == 1)
        let text = try self.signed([])
        self.publisher.publish(text.dropLast(8) + "AAAAAAAA")
        await self.follower.poll()
        #expect(self.publisher.keyFetches == 1)
        let next = RevocationKey()
        self.publisher.publish(try self.signed([], by: next))
        for _ in 0..<5 { await self.follower.poll() }
        #expect(self.publisher.keyFetches == 2)
        self.publisher.state.withLock { $0.keys.append(next) }
        self.publisher.wait(30)
        self.publisher.publish(try self.signed([], by: next))
        #expect(await self.follower.poll() == .applied(0))
        #expect(self.publisher.keyFetches == 3)
    }

    @Test(arguments: ["", "?", "?tenant=acme/north&of=a?b"])
    func `the keys are below the list's path, whatever query it has`(query: String) async throws {
        self.publisher.publish(try self.signed([]))
        #expect(try await self.makeFollower(of: Self.url + query).poll() == .applied(0))
        let requests = self.publisher.state.withLock { $0.requests }
        #expect(requests == [Self.url + query, "\(Self.url)/jwks.json\(query)"])
    }

    @Test func `why the keys cannot be had is told in one sentence`() async throws {
        self.publisher.publish(try self.signed([]))
        self.publisher.state.withLock { $0.keys = [] }
        guard case .failed(let why) = await self.follower.poll() else {
            Issue.record("taken without a key")
            return
        }
        #expect(why.hasPrefix("The list's keys cannot be had: ") && why.hasSuffix("which lists are signed with."))
    }

    @Test func `a list holds nothing that has ended or outlives a token`() {
        let now = self.publisher.now
        let list = SignedRevocations(
            [
                Revocation(kind: .key, value: "past", endsAt: now),
                Revocation(kind: .key, value: "near", endsAt: now + 10),
                Revocation(kind: .key, value: "far", endsAt: now + 10_000),
            ], at: now)
        #expect(list.revocations.map { $0.endsAt.timeIntervalSince(now) } == [10, 3600])
    }

    @Test func `a list without room for everything names keys, and the tokens that end last`() throws {
        let now = self.publisher.now
        let tokens = (1...47_000).map { number in
            Revocation(
                kind: .fingerprint, value: String(format: "%016x", number),
                endsAt: now + TimeInterval(number > 46_000 ? 3500 : 3600))
        }
        let key = Revocation(kind: .key, value: "stolen", endsAt: now + 100)
        let list = SignedRevocations(tokens + [key], at: now)
        #expect(list.leftOut > 0)
        #expect(list.leftOut + list.revocations.count == 47_001)
        #expect(list.revocations.first == key)
        // All that end last are there, and of the others those that would come last in order of their values, too.
        let last = tokens.suffix(1000).suffix(1000 - list.leftOut)
        #expect(Set(list.revocations) == Set(tokens.prefix(46_000) + last + [key]))
        let text = Array(try list.signed(with: self.key).utf8)
        #expect(text.count <= SignedRevocations.maximumBytes)
        let keys = try RevocationKeySet(jwks: self.key.published)
        #expect(try SignedRevocations(reading: text, keys: keys, at: now) == list)
        let whole = SignedRevocations(Array(tokens.prefix(45_000)) + [key], at: now)
        #expect(whole.leftOut == 0)
        #expect(whole.revocations.count == 45_001)
    }

    @Test func `a list without room for everything takes nothing back that an earlier one withdrew`() async throws {
        let (first, second) = (try await self.mint(), try await self.mint(vehicle: "veh-2"))
        self.publisher.publish(try self.signed([self.revocation(of: first, lasting: 100)]))
        await self.follower.poll()
        func publish(_ token: FleetToken, leavingOut count: Int) throws {
            let entry = #"{"kind":"fingerprint","value":"\#(token.fingerprint)","end":1767229000}"#
            let time = Int(self.publisher.now.timeIntervalSince1970)
            self.publisher.publish(
                try self.signed(
                    header: #"{"alg":"EdDSA","kid":"\#(self.key.id)","typ":"fleetpass-revocations+jwt"}"#,
                    payload:
                        #"{"iat":\#(time),"exp":\#(time + 60),"left_out":\#(count),"revocations":[\#(entry)]}"#))
        }
        for _ in 1...2 {
            self.publisher.wait(20)
            try publish(second, leavingOut: 1)
            #expect(await self.follower.poll() == .applied(1))
            #expect(self.isRevoked(first) && self.isRevoked(second))
        }
        // A list that tells all takes the place of what it does not tell.
        self.publisher.wait(20)
        try publish(second, leavingOut: 0)
        await self.follower.poll()
        #expect(!self.isRevoked(first) && self.isRevoked(second))
        // What was left out is let go of at its end.
        self.publisher.publish(
            try self.signed([self.revocation(of: first, lasting: 40), self.revocation(of: second)]))
        await self.follower.poll()
        self.publisher.wait(39)
        try publish(second, leavingOut: 1)
        await self.follower.poll()
        #expect(self.isRevoked(first))
        self.publisher.wait(1)
        await self.follower.poll()
        #expect(!self.isRevoked(first) && self.isRevoked(second))
    }

    @Test func `a key file is read again and never printed`() throws {
        let again = try RevocationKey(file: self.key.file)
        #expect(again.id == self.key.id)
        #expect(try RevocationKeySet(jwks: self.key.published).contains(self.key.id))
        let secret = try #require(JSONValue(parsing: self.key.file).object?["d"]?.string)
        #expect(!"\(self.key) \(String(reflecting: self.key))".contains(secret))
        #expect(!String(decoding: self.key.published, as: UTF8.self).contains(secret))
        #expect(throws: SigningError.self) { try RevocationKey(file: self.key.published) }
        #expect(throws: SigningError.self) { try RevocationKeySet(jwks: Array(#"{"keys":[]}"#.utf8)) }
    }

    @Test(arguments: ["kty", "crv", "d"], [.string("EC"), .integer(1), nil] as [JSONValue?])
    func `a key file for something else is refused`(name: String, value: JSONValue?) throws {
        var members = try #require(JSONValue(parsing: self.key.file).object)
        members[name] = value
        let error = #expect(throws: SigningError.self) {
            try RevocationKey(file: JSONValue.object(members).serialized)
        }
        #expect(error?.code == .invalidKey)
    }

    @Test(
        arguments: [
            ("kid", nil), ("kid", .string("")), ("kid", .string(String(repeating: "k", count: 257))),
            ("kty", .string("EC")), ("crv", .string("X25519")), ("use", .string("enc")), ("alg", .string("RS256")),
            ("key_ops", .array([.string("sign")])), ("key_ops", .string("verify")), ("d", .string("AA")),
            ("x", .string("AA")),
        ] as [(String, JSONValue?)])
    func `a key that cannot be one for lists is left out, and takes no other with it`(
        name: String, value: JSONValue?
    ) throws {
        func entry(_ key: RevocationKey) throws -> JSONObject {
            let entries = try JSONValue(parsing: key.published).object?["keys"]?.array
            return try #require(entries?.first?.object)
        }
        func keys(_ entries: JSONObject...) throws -> RevocationKeySet {
            try RevocationKeySet(jwks: JSONValue.object(["keys": .array(entries.map { .object($0) })]).serialized)
        }
        let other = RevocationKey()
        var members = try entry(self.key)
        members["key_ops"] = .array([.string("verify")])
        #expect(try keys(members).contains(self.key.id))
        members[name] = value
        #expect(throws: SigningError.self) { try keys(members) }
        let both = try keys(members, entry(other))
        #expect(!both.contains(self.key.id) && both.contains(other.id))
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTestSupport
import FleetTokens
import Foundation
import Testing

@testable import GoogleCredentials

@Suite struct IAMSignerTests {
    private func claims() throws -> AuthorizationClaims { try TokenType.driver(VehicleID(checking: "veh-3")).claims }

    private func mint(_ signer: any PayloadSigner) async throws -> MintedToken {
        try await TokenMinter(signer: signer).mint(self.claims(), at: Google.now)
    }

    private func verify(_ minted: MintedToken) throws -> ExaminedToken {
        let account = TrustedAccount(email: Google.account, role: .driver, provider: nil)
        let keys = try JWKS.read(JWKS.write([Google.key.get().publicKey()]), account: account)
        return try TokenVerifier(keys: TrustedKeySet(keys)).verify(minted.token.compactSerialization, at: Google.now)
    }

    @Test func `from metadata server over impersonation to signJwt, no key is on any disk`() async throws {
        let world = World()
        let credential = try await world.metadata()
        #expect(try await credential.account() == Google.machine)
        let signer = try await credential.signer(
            impersonating: Google.account, delegates: ["between@acme-fleet.iam.gserviceaccount.com"])
        let minted = try await self.mint(signer)
        let examined = try self.verify(minted)
        #expect(examined.account.role == .driver)
        #expect(examined.claims == minted.claims)
        #expect(try CompactJWS(minted.token.compactSerialization).keyID == (try Google.key.get().keyID))
        let call = try #require(world.network.requests(to: ":signJwt").first)
        #expect(call.header("authorization") == "Bearer MARKED-access")
        #expect(
            call.json["delegates"]
                == .array(["projects/-/serviceAccounts/between@acme-fleet.iam.gserviceaccount.com"]))
        #expect(world.network.requests(to: "/jwk/").count == 1)
    }

    @Test func `credentials that impersonate sign for that account through the source`() async throws {
        let world = World()
        let signer = try await world.load(Files.impersonated).signer()
        #expect(signer.account == Google.account)
        _ = try self.verify(try await self.mint(signer))
        #expect(world.network.requests(to: ":generateAccessToken").isEmpty)
    }

    @Test func `the machine signs as itself, and a key at hand signs here`() async throws {
        let world = World()
        #expect(try await world.metadata().signer().account == Google.machine)
        let local = try await world.load(Files.serviceAccount()).signer()
        #expect(local is LocalSigner)
        let error = await #expect(throws: CredentialError.self) { try await world.load(Files.user).signer() }
        #expect(error?.message.contains("authorized_user") == true)
    }

    @Test func `a machine whose identity is a pool's signs as no account`() async throws {
        let world = World()
        world.network.answer { request, index in
            guard request.url.hasSuffix("/email") else { return try await Google.answer(request, index) }
            return .metadata("acme-fleet.svc.id.goog")
        }
        let credential = try await world.metadata()
        #expect(try await credential.account() == nil)
        let error = await #expect(throws: CredentialError.self) { try await credential.signer() }
        #expect(error?.code == .invalidConfiguration)
        #expect(world.network.requests(to: ":signJwt").isEmpty)
        await #expect(throws: Never.self) {
            try await self.mint(credential.signer(impersonating: Google.account))
        }
    }

    @Test func `signBlob learns the key's id and names it from the first token on`() async throws {
        let world = World()
        let credential = try await world.metadata()
        let signer = try await credential.signer(impersonating: Google.account, method: .signBlob)
        for calls in [2, 3] {
            let minted = try await self.mint(signer)
            #expect(try CompactJWS(minted.token.compactSerialization).keyID == (try Google.key.get().keyID))
            _ = try self.verify(minted)
            #expect(world.network.requests(to: ":signBlob").count == calls)
        }
    }

    @Test func `signBlob leaves the key's id out where the service changes keys at each call`() async throws {
        let world = World()
        let credential = try await world.metadata()
        world.network.answer { request, index in
            var response = try await Google.answer(request, index)
            if request.url.hasSuffix(":signBlob"), var body = try JSONValue(parsing: response.body).object {
                body["keyId"] = .string("key-\(index)")
                response.body = JSONValue.object(body).serialized
            }
            return response
        }
        let minted = try await self.mint(credential.signer(impersonating: Google.account, method: .signBlob))
        #expect(try CompactJWS(minted.token.compactSerialization).keyID == nil)
        #expect(world.network.requests(to: ":signBlob").count == 3)
    }

    /// Ways in which a signer far away answers with something else than was asked.
    enum Forgery: CaseIterable, Sendable {
        case otherVehicle, wildcard, longerLife, otherKey, brokenSignature, notAToken
    }

    @Test(arguments: Forgery.allCases)
    func `a signed token that is not what was asked for is never released`(forgery: Forgery) async throws {
        let world = World()
        let credential = try await world.metadata()
        world.network.answer { request, index in
            guard request.url.hasSuffix(":signJwt") else { return try await Google.answer(request, index) }
            var payload = request.json["payload"]?.string ?? ""
            var key = try Google.key.get()
            switch forgery {
            case .otherVehicle: payload = payload.replacing("veh-3", with: "veh-4")
            case .wildcard: payload = payload.replacing("veh-3", with: "*")
            case .longerLife: payload = payload.replacing("\"exp\":17672", with: "\"exp\":17673")
            case .otherKey: key = try ServiceAccountKey(generatingFor: Google.account, projectID: nil)
            case .brokenSignature, .notAToken: break
            }
            var token = try await LocalSigner(key).sign(payload: Array(payload.utf8)).token.compactSerialization
            if forgery == .brokenSignature { token = String(token.dropLast(4)) + "AAAA" }
            if forgery == .notAToken { token = "soon" }
            return .json(["keyId": .string(try Google.key.get().keyID), "signedJwt": .string(token)])
        }
        let signer = try await credential.signer(impersonating: Google.account)
        let error = await #expect(throws: SigningError.self) { try await self.mint(signer) }
        #expect(error?.code == .releaseCheckFailed)
    }

    @Test func `of the published keys the one counts that signed`() async throws {
        let world = World()
        let other = try ServiceAccountKey(generatingFor: Google.account, projectID: "acme-fleet")
        let keys = JWKS.write([try other.publicKey(), try Google.key.get().publicKey()])
        let credential = try await world.metadata()
        world.network.answer { request, index in
            guard request.url.contains("/jwk/") else { return try await Google.answer(request, index) }
            return UpstreamResponse(status: 200, body: keys)
        }
        let signer = try await credential.signer(impersonating: Google.account)
        #expect(try await signer.sign(payload: Array("{}".utf8)).publicKey?.id == (try Google.key.get().keyID))
    }

    @Test func `a token is released unverified where the published keys cannot be had`() async throws {
        let world = World()
        let credential = try await world.metadata()
        world.network.answer { request, index in
            guard !request.url.contains("/jwk/") else { return UpstreamResponse(status: 404) }
            return try await Google.answer(request, index)
        }
        let signer = try await credential.signer(impersonating: Google.account)
        for _ in 0..<5 { _ = try self.verify(try await self.mint(signer)) }
        #expect(world.network.requests(to: "/jwk/").count == 1, "an absent key is not asked for again at once")
    }

    @Test(.timeLimit(.minutes(1)))
    func `published keys that do not come are waited for once, for a second, and fetched behind everybody's back`()
        async throws
    {
        let world = World()
        let signer = try await world.metadata().signer(impersonating: Google.account)
        world.network.answer { request, index in
            if request.url.contains("/jwk/") { try await world.clock.sleep(for: .seconds(3600)) }
            return try await Google.answer(request, index)
        }
        async let first = self.mint(signer)
        // The second that the first caller waits, the limit of the fetch, and the fetch itself.
        await world.clock.waitForSleepers(3)
        world.clock.advance(by: .seconds(1))
        _ = try self.verify(try await first)
        // Nobody moves the clock, so who waited would wait for good.
        for _ in 0..<3 { _ = try self.verify(try await self.mint(signer)) }
        // The fetch fails, and a pause follows.
        world.clock.advance(by: .seconds(5))
        while world.clock.sleeperCount > 0 { await Task.yield() }
        for _ in 0..<3 { _ = try self.verify(try await self.mint(signer)) }
        #expect(world.network.requests(to: "/jwk/").count == 1)
        world.network.answer(Google.answer)
        while try await signer.sign(payload: Array("{}".utf8)).publicKey == nil {
            // Not past the limit of a fetch.
            if world.clock.sleeperCount == 0 { world.clock.advance(by: .seconds(15)) }
            await Task.yield()
        }
    }

    @Test func `accounts of other universes are not looked up among Google's`() async throws {
        let world = World()
        let credential = try await world.metadata()
        world.network.answer { request, index in
            var request = request
            request.url = request.url.replacing("other.example", with: "googleapis.com")
            if request.url.hasSuffix("/universe-domain") { return .metadata("other.example") }
            return try await Google.answer(request, index)
        }
        let signer = try await credential.signer(impersonating: Google.account)
        _ = try await self.mint(signer)
        #expect(world.network.requests(to: "iamcredentials.other.example").count == 1)
        #expect(world.network.requests(to: "iamcredentials.googleapis.com").isEmpty)
        #expect(world.network.requests(to: "/jwk/").isEmpty)
    }

    @Test func `calls are tried again on transient errors only, within the budget`() async throws {
        var world = World()
        world.retries = RetryPolicy(attempts: 3)
        let credential = try await world.metadata()
        let signings = Counter()
        world.network.answer { request, index in
            let fails = request.url.hasSuffix(":signJwt") && signings.next() <= 2
            return fails ? UpstreamResponse(status: 503) : try await Google.answer(request, index)
        }
        let settings = IAMSigning(budget: SigningBudget(callsPerMinute: 10, clock: world.clock))
        let signer = try await credential.signer(impersonating: Google.account, settings: settings)
        _ = try await self.mint(signer)
        #expect(settings.budget.remaining == 7, "each attempt counts")

        world.network.answer { request, index in
            guard request.url.hasSuffix(":signJwt") else { return try await Google.answer(request, index) }
            return .json(["error": ["status": "PERMISSION_DENIED"]], status: 403)
        }
        let error = await #expect(throws: SigningError.self) { try await self.mint(signer) }
        #expect(error?.message.contains("403 (PERMISSION_DENIED)") == true)
        #expect(settings.budget.remaining == 6)
    }

    @Test func `an access token that IAM refuses is dropped once, and the call made again with a new one`() async throws
    {
        let world = World()
        let credential = try await world.metadata()
        let signer = try await credential.signer(impersonating: Google.account)
        _ = try await self.mint(signer)
        #expect(world.network.requests(to: "/token").count == 1)
        // The old token is withdrawn at Google; the metadata server has a new one.
        world.network.answer { request, index in
            if request.url.contains("/token") {
                var response = UpstreamResponse.json([
                    "access_token": "MARKED-access-2", "expires_in": .integer(3599),
                ])
                response.headers = [("Metadata-Flavor", "Google")]
                return response
            }
            guard !request.url.hasSuffix(":signJwt") || request.header("authorization") == "Bearer MARKED-access-2"
            else { return .json(["error": ["status": "UNAUTHENTICATED"]], status: 401) }
            return try await Google.answer(request, index)
        }
        world.clock.advance(by: .seconds(60))
        _ = try self.verify(try await self.mint(signer))
        #expect(world.network.requests(to: "/token").count == 2)
    }

    @Test func `a token that is refused the moment it was fetched is not fetched again and again`() async throws {
        let world = World()
        let credential = try await world.metadata()
        world.network.answer { request, index in
            guard request.url.hasSuffix(":signJwt") else { return try await Google.answer(request, index) }
            return .json(["error": ["status": "UNAUTHENTICATED"]], status: 401)
        }
        let signer = try await credential.signer(impersonating: Google.account)
        for _ in 0..<5 { await #expect(throws: SigningError.self) { try await self.mint(signer) } }
        #expect(world.network.requests(to: "/token").count == 1)
        #expect(world.network.requests(to: ":signJwt").count == 5)
    }

    @Test(arguments: [
        (
            403, "IAM_PERMISSION_DENIED",
            "roles/iam.serviceAccountTokenCreator to \(Google.machine) on \(Google.account)"
        ),
        (403, "SERVICE_DISABLED", "Enable the IAM Service Account Credentials API"),
        (403, "ACCESS_TOKEN_SCOPE_INSUFFICIENT", "Give the machine the scope https://www.googleapis.com/auth/"),
        (403, "USER_PROJECT_DENIED", "roles/serviceusage.serviceUsageConsumer on the quota project"),
        (404, "NOT_FOUND", "There is no account \(Google.account)"),
    ])
    func `a refusal says what to do`(status: Int, reason: String, advice: String) async throws {
        let world = World()
        let credential = try await world.metadata()
        world.network.answer { request, index in
            guard request.url.hasSuffix(":signJwt") else { return try await Google.answer(request, index) }
            let details = JSONValue.array([.object(["reason": .string(reason)])])
            return .json(
                ["error": .object(["status": "PERMISSION_DENIED", "details": details])], status: status)
        }
        let signer = try await credential.signer(impersonating: Google.account)
        let error = await #expect(throws: SigningError.self) { try await self.mint(signer) }
        #expect(error?.message.contains(advice) == true, "\(error?.message ?? "")")
    }

    @Test(arguments: ["/token", "oauth2.googleapis.com", "sts.googleapis.com"], [403, 404])
    func `a refusal of whoever gives access tokens says nothing of the account that signs`(
        place: String, status: Int
    ) async throws {
        var world = World()
        world.files = ["/subject": Array("MARKED-subject".utf8)]
        let credential =
            switch place {
            case "/token": try await world.metadata()
            case "oauth2.googleapis.com": try await world.load(Files.user)
            default: try await world.load(Files.external(["file": "/subject"]))
            }
        let signer = try await credential.signer(impersonating: Google.account)
        world.network.answer { request, index in
            guard request.url.contains(place) else { return try await Google.answer(request, index) }
            return UpstreamResponse(status: status)
        }
        let error = await #expect(throws: SigningError.self) { try await signer.sign(payload: Array("{}".utf8)) }
        let refusal = try #require(error?.cause as? CredentialError)
        #expect(refusal.status == status)
        #expect(refusal.nextStep == nil)
        #expect(error?.message.contains("answered \(status).") == true)
        #expect(world.network.requests(to: ":signJwt").isEmpty)
    }

    @Test(
        arguments: [
            (
                403,
                "to the identity of these credentials on between@acme-fleet.iam.gserviceaccount.com, and to"
                    + " between@acme-fleet.iam.gserviceaccount.com on \(Google.account)."
            ),
            (404, "There is no account \(Google.account)"),
        ] as [(Int, String)])
    func `a refusal to act as the account of a credential file is about that account and no other`(
        status: Int, advice: String
    ) async throws {
        let world = World()
        let signer = try await world.load(Files.impersonated).signer(impersonating: Google.machine)
        world.network.answer { request, index in
            guard request.url.hasSuffix(":generateAccessToken") else { return try await Google.answer(request, index) }
            return UpstreamResponse(status: status)
        }
        let error = await #expect(throws: SigningError.self) { try await signer.sign(payload: Array("{}".utf8)) }
        let step = try #require((error?.cause as? CredentialError)?.nextStep)
        #expect(step.contains(advice))
        #expect(!step.contains(Google.machine))
        #expect(error?.message.hasSuffix(step) == true)
    }

    @Test func `signers find their identity when they first sign, and again after a failed search`() async throws {
        var world = World()
        world.variables = ["GCE_METADATA_HOST": "metadata.google.internal"]
        world.network.answer { _, _ in UpstreamResponse(status: 500) }
        let google = GoogleSigners(ApplicationDefaultCredentials(context: world.context))
        let signer = google.signer(impersonating: Google.account)
        let own = google.ownSigner(expecting: Google.account)
        #expect(world.network.requests.isEmpty)
        await #expect(throws: SigningError.self) { try await self.mint(signer) }
        world.network.answer(Google.answer)
        world.clock.advance(by: .seconds(10))
        _ = try self.verify(try await self.mint(signer))
        let error = await #expect(throws: SigningError.self) { try await self.mint(own) }
        #expect(error?.message.contains("runs as \(Google.machine)") == true)
        #expect(google.statistics?.fetches == 1)
    }

    @Test func `the budget refuses in any minute what the quota would refuse, and says when it is low`() throws {
        let clock = ManualClock()
        let budget = SigningBudget(callsPerMinute: 100, clock: clock)
        for second in 0..<10 {
            for _ in 0..<10 { try budget.spend() }
            #expect(budget.isLow == (second >= 8))
            clock.advance(by: .seconds(1))
        }
        let error = #expect(throws: CredentialError.self) { try budget.spend() }
        #expect(error?.code == .quotaExhausted)
        clock.advance(by: .seconds(50))
        #expect(throws: CredentialError.self) { try budget.spend() }
        clock.advance(by: .seconds(1))
        #expect(budget.remaining == 10)
        clock.advance(by: .seconds(3600))
        #expect(budget.remaining == 100)
        #expect(!budget.isLow)
    }

    @Test func `a minute that begins late in a second is a whole minute`() throws {
        let clock = ManualClock()
        let budget = SigningBudget(callsPerMinute: 100, clock: clock)
        clock.advance(by: .milliseconds(900))
        for _ in 0..<100 { try budget.spend() }
        clock.advance(by: .milliseconds(59_200))
        #expect(throws: CredentialError.self) { try budget.spend() }
        clock.advance(by: .milliseconds(900))
        #expect(budget.remaining == 100)
    }

    @Test func `a call slower than nearly all before it is made a second time, and the first answer counts`()
        async throws
    {
        let clock = ManualClock()
        let calls = HedgedCalls(time: TimeSource(clock: clock))
        for _ in 0..<20 {
            try await calls.run(mayHedge: { true }) { clock.advance(by: .milliseconds(100)) }
        }
        let slowFirst: @Sendable (Counter) async throws -> Int = { made in
            let number = made.next()
            if number == 1 { try await clock.sleep(for: .seconds(100)) }
            return number
        }
        async let answer = calls.run(mayHedge: { true }) { [made = Counter()] in try await slowFirst(made) }
        await clock.waitForSleepers(2)
        clock.advance(by: .milliseconds(100))
        #expect(try await answer == 2)

        async let unaffordable = calls.run(mayHedge: { false }) { [made = Counter()] in try await slowFirst(made) }
        await clock.waitForSleepers(2)
        clock.advance(by: .seconds(1))
        // Time for a second call to be made and to answer, if there were one.
        for _ in 0..<200 { await Task.yield() }
        clock.advance(by: .seconds(100))
        #expect(try await unaffordable == 1)
    }

    @Test func `a call is not made twice at once after an attempt has failed`() async throws {
        let world = World()
        let credential = try await world.metadata()
        let settings = IAMSigning(
            retries: RetryPolicy(attempts: 3, limit: .seconds(15)), verifiesWithPublishedKeys: false)
        let signer = try await credential.signer(impersonating: Google.account, settings: settings)
        world.network.answer { request, index in
            if request.url.hasSuffix(":signJwt") { world.clock.advance(by: .milliseconds(100)) }
            return try await Google.answer(request, index)
        }
        for _ in 0..<20 { _ = try await self.mint(signer) }
        let failures = Counter()
        world.network.answer { request, index in
            guard request.url.hasSuffix(":signJwt") else { return try await Google.answer(request, index) }
            let isFirst = failures.next() == 1
            // The limit of the call, and the time after which its first attempt would be hedged.
            if isFirst { await world.clock.waitForSleepers(2) }
            // Time for a later attempt to wait for its hedge, and for that to be made, if there were one.
            for _ in 0..<200 { await Task.yield() }
            world.clock.advance(by: .milliseconds(isFirst ? 60 : 200))
            for _ in 0..<200 { await Task.yield() }
            return UpstreamResponse(status: 429, headers: [("Retry-After", "0")])
        }
        await #expect(throws: SigningError.self) { try await self.mint(signer) }
        #expect(failures.value == 3)
    }

    /// The budget, and how often a slow call is made: once where little of the budget is left.
    @Test(arguments: [(SigningBudget.defaultCallsPerMinute, 2), (25, 1)])
    func `waiting for an access token is no part of what a call usually takes, and a hedge is paid for`(
        callsPerMinute: Int, expected: Int
    ) async throws {
        let world = World()
        let credential = try await world.metadata()
        let budget = SigningBudget(callsPerMinute: callsPerMinute, clock: world.clock)
        let signer = try await credential.signer(
            impersonating: Google.account, settings: IAMSigning(budget: budget, verifiesWithPublishedKeys: false))
        world.network.answer { request, index in
            if request.url.contains("/token") { world.clock.advance(by: .seconds(8)) }
            if request.url.hasSuffix(":signJwt") { world.clock.advance(by: .milliseconds(100)) }
            return try await Google.answer(request, index)
        }
        for _ in 0..<20 { _ = try await self.mint(signer) }
        let calls = Counter()
        world.network.answer { request, index in
            if request.url.hasSuffix(":signJwt"), calls.next() == 1 { try await world.clock.sleep(for: .seconds(5)) }
            return try await Google.answer(request, index)
        }
        let before = budget.remaining
        async let minted = self.mint(signer)
        // The limit of the call, the time after which it is hedged, and the call itself.
        await world.clock.waitForSleepers(3)
        world.clock.advance(by: .milliseconds(100))
        for _ in 0..<10_000 where calls.value < 2 { await Task.yield() }
        #expect(calls.value == expected)
        #expect(budget.remaining == before - expected)
        world.clock.advance(by: .seconds(5))
        _ = try await minted
    }

    @Test func `a budget that is used up is no failure of the way that it holds back`() async throws {
        let world = World()
        let settings = IAMSigning(budget: SigningBudget(callsPerMinute: 1, clock: world.clock))
        let signer = try await world.metadata().signer(impersonating: Google.account, settings: settings)
        let ladder = try SignerLadder([signer, LocalSigner(Google.key.get())], clock: world.clock)
        for _ in 0..<6 { _ = try await self.mint(ladder) }
        #expect(ladder.statistics.map(\.isPassedOver) == [false, false])
        #expect(ladder.statistics.map(\.failures) == [0, 0])
        #expect(world.network.requests(to: ":signJwt").count == 1)
        world.clock.advance(by: .seconds(61))
        _ = try await self.mint(ladder)
        #expect(world.network.requests(to: ":signJwt").count == 2)
    }

    @Test func `a failing call is not made a second time, and a failing second call does not hide the first`()
        async throws
    {
        struct Broken: Error {}
        let clock = ManualClock()
        let calls = HedgedCalls(time: TimeSource(clock: clock))
        for _ in 0..<20 { try await calls.run(mayHedge: { true }) {} }
        await #expect(throws: Broken.self) { try await calls.run(mayHedge: { true }) { throw Broken() } }
        let made = Counter()
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        async let answer = calls.run(mayHedge: { true }) { () -> String in
            guard made.next() == 1 else {
                start.yield()
                throw Broken()
            }
            for await _ in started { break }
            return "first"
        }
        #expect(try await answer == "first")
    }

    @Test(arguments: ["", "a b@c", "a@b/../../x", "a@b:signBlob", "a?b", "..", "ä@b"])
    func `what is not an account's e-mail never reaches a URL`(account: String) async throws {
        let credential = try await World().metadata()
        await #expect(throws: CredentialError.self) { try await credential.signer(impersonating: account) }
        await #expect(throws: CredentialError.self) {
            try await credential.signer(impersonating: Google.account, delegates: [account])
        }
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetSigning
import FleetTokens
import Foundation
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct EngineActivityTests {
    @Test func `a token in use is counted, and none is kept`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        fixture.advance(by: 5)
        _ = try await fixture.vehicle("veh-1", token: "driver|vehicleid=veh-1")
        _ = await code { try await fixture.vehicle("veh-9") }
        let snapshot = fixture.engine.activity.snapshot()
        #expect(
            snapshot.tokens.map(\.role) == ["server", "driver"] || snapshot.tokens.map(\.role) == ["driver", "server"])
        let server = try #require(snapshot.tokens.first { $0.role == "server" })
        #expect(server.count == 2)
        #expect(server.lastMethod == .getVehicle)
        #expect(server.lastUse == TestClock.start + 5)
        #expect(server.expiry == TestClock.start + 3600)
        #expect(server.claims == "{\"tripid\":\"*\",\"vehicleid\":\"*\"}")
        #expect(server.fingerprint == FleetToken(serverToken).fingerprint)
        var dump = ""
        Swift.dump(snapshot, to: &dump)
        #expect(!dump.contains(serverToken))
        #expect(snapshot.refusals.isEmpty)
    }

    @Test func `refusals say why, and whose they are where the token is good`() async throws {
        let fixture = EngineFixture()
        _ = await code { try await fixture.vehicle("veh-1", token: nil) }
        _ = await code { try await fixture.vehicle("veh-1", token: "bad") }
        _ = await code { try await fixture.vehicle("veh-1", token: "driver|vehicleid=veh-2") }
        _ = await code { try await fixture.trip("trip-1", token: "driver|vehicleid=veh-2") }
        let refusals = fixture.engine.activity.snapshot().refusals
        #expect(refusals.map(\.reason) == ["CLAIM_MISMATCH", "CLAIM_MISMATCH", "TOKEN_MALFORMED", "TOKEN_MISSING"])
        #expect(refusals.map(\.method) == [.getTrip, .getVehicle, .getVehicle, .getVehicle])
        #expect(refusals.map { $0.fingerprint == nil } == [false, false, false, true])
        #expect(refusals.map(\.claims) == ["{\"vehicleid\":\"veh-2\"}", "{\"vehicleid\":\"veh-2\"}", nil, nil])
        #expect(refusals.allSatisfy { !$0.message.isEmpty && $0.time == TestClock.start })
        #expect(fixture.engine.activity.snapshot().tokens.isEmpty)
    }

    @Test func `both records are bounded, and the least recently used token goes first`() async throws {
        let activity = EngineActivity(maximumTokens: 8, maximumRefusals: 3)
        func use(_ name: String, at second: TimeInterval) throws {
            let text = "driver|vehicleid=\(name)"
            activity.admit(
                try TextVerifier().verify(text, at: TestClock.start), text, to: .getVehicle,
                at: TestClock.start + second
            )
        }
        for number in 0..<8 { try use("veh-\(number)", at: TimeInterval(number)) }
        try use("veh-0", at: 10)
        try use("veh-8", at: 11)
        let claims = activity.snapshot().tokens.map(\.claims)
        #expect(claims.count == 8)
        #expect(claims.first == "{\"vehicleid\":\"veh-8\"}")
        #expect(claims.contains("{\"vehicleid\":\"veh-0\"}"))
        #expect(!claims.contains("{\"vehicleid\":\"veh-1\"}"))
        for second in 0..<5 {
            activity.refuse(
                .missing, .init(method: .getTrip, text: nil), at: TestClock.start + TimeInterval(second)
            ) { text in TokenExaminer().explain(text, request: nil, keys: nil, now: TestClock.start) }
        }
        #expect(activity.snapshot().refusals.map { $0.time.timeIntervalSince(TestClock.start) } == [4, 3, 2])
    }

    @Test func `a refusal is explained check by check, with what the call addressed`() async throws {
        let fixture = EngineFixture()
        _ = await code { try await fixture.vehicle("veh-1", token: "driver|vehicleid=veh-2") }
        let refusal = try #require(fixture.engine.activity.snapshot().refusals.first)
        #expect(refusal.sequence == 1)
        #expect(refusal.addressed?.kind == .vehicle)
        #expect(refusal.addressed?.id == "veh-1")
        #expect(refusal.subject?.id == "veh-2")
        #expect(refusal.explanation?.checks.map(\.rule) == TokenRule.allCases)
    }

    @Test func `a call that is refused before it is read is not said to lack permission or claims`() async throws {
        let key = try ServiceAccountKey(generatingFor: "server@acme.iam.gserviceaccount.com", projectID: "acme")
        let minted = try await TokenMinter(signer: try LocalSigner(key)).mint(
            TokenType.server.claims, at: TestClock.start)
        let keys = TrustedKeySet([try key.publicKey(role: .server, provider: ProviderID("acme"))])
        let engine = Engine(
            store: MemoryStore(), verifier: TokenVerifier(keys: keys), now: { TestClock.start + 3600 })
        let outcome = await code {
            try await engine.authenticate(
                minted.token.compactSerialization, for: .createVehicle, of: "providers/acme")
        }
        #expect(outcome == .unauthenticated)
        let explanation = try #require(engine.activity.snapshot().refusals.first?.explanation)
        func outcomes(where isMeant: (TokenCheck.Outcome) -> Bool) -> [TokenRule] {
            explanation.checks.filter { isMeant($0.outcome) }.map(\.rule)
        }
        #expect(outcomes { if case .refused = $0 { true } else { false } } == [.expiry])
        #expect(
            outcomes { $0 == .notReached("the call was refused before all of it was read") }
                == [.permission, .coverage])
        #expect(outcomes { if case .passed = $0 { true } else { false } }.suffix(2) == [.role, .provider])
    }

    @Test func `a creation that is refused before its id is read is explained without the claims`() async throws {
        let fixture = EngineFixture()
        _ = await code { try await fixture.createVehicle("", token: "consumer|tripid=t") }
        let refusal = try #require(fixture.engine.activity.snapshot().refusals.first)
        #expect(refusal.reason == "ROLE_LACKS_PERMISSION")
        #expect(refusal.addressed?.kind == .fleet)
        let unread = refusal.explanation?.checks.filter {
            $0.outcome == .notReached("the call was refused before all of it was read")
        }
        #expect(unread?.map(\.rule) == [.coverage])
    }

    @Test func `the refusal of a call of which the rest cannot be read says whose token it was`() async throws {
        let fixture = EngineFixture()
        let fault = await fixture.engine.refusal(
            of: CreateVehicle.self, .with { $0.parent = "providers/acme" }, token: "consumer|tripid=t")
        #expect(fault?.code == .permissionDenied)
        let refusal = try #require(fixture.engine.activity.snapshot().refusals.first)
        #expect(refusal.reason == "ROLE_LACKS_PERMISSION")
        #expect(refusal.account == "consumer@acme.iam.gserviceaccount.com")
        #expect(refusal.subject?.kind == .trip && refusal.subject?.id == "t")
    }

    @Test func `refusals that come in a flood are kept and not all explained`() {
        let activity = EngineActivity()
        var explained = 0
        func refuse(at second: TimeInterval) {
            activity.refuse(
                .missing, .init(method: .getTrip, text: "some token"), at: TestClock.start + second
            ) { text in
                explained += 1
                return TokenExaminer().explain(text, request: nil, keys: nil, now: TestClock.start)
            }
        }
        for _ in 0..<100 { refuse(at: 0) }
        #expect(explained == 20)
        refuse(at: 1)
        #expect(explained == 21)
        #expect(activity.snapshot().refusals.count == 101)
    }

    @Test func `a token that takes over from one near its end refreshes it, another app's does not`() throws {
        let activity = EngineActivity()
        let provider = try ProviderID(checking: "acme")
        let claims = try AuthorizationClaims(vehicle: .only(VehicleID(checking: "veh-1")))
        func issue(_ fingerprint: String, at seconds: TimeInterval) {
            activity.noteIssue(
                fingerprint: fingerprint, role: .driver, provider: provider, claims: claims,
                expiry: TestClock.start + seconds + 3300, at: TestClock.start + seconds)
        }
        issue("first", at: 0)
        issue("other app", at: 20)
        issue("refresh", at: 2400)
        issue("much later", at: 20_000)
        let issues = activity.snapshot().issues
        #expect(issues.map(\.fingerprint) == ["much later", "refresh", "other app", "first"])
        #expect(issues.map(\.replaced) == [nil, "other app", nil, nil])
        #expect(issues.allSatisfy { $0.subject.kind == .vehicle && $0.subject.id == "veh-1" })
    }
}

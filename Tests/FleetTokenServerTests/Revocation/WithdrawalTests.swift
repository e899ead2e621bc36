// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTestSupport
import FleetTokens
import Foundation
import HTTPTypes
import PostgreSQLTestSupport
import Testing

@testable import FleetTokenServer

/// Tokens that are being made while their holder's are withdrawn.
@Suite(.timeLimit(.minutes(1))) struct WithdrawalTests {
    private static let key = Result { try ServiceAccountKey(generatingFor: "driver@acme", projectID: "acme") }
    private static let start = Date(timeIntervalSince1970: 1_767_225_600)
    private static let driver = Caller(name: "ann", issuer: "acme", claims: ["groups": ["drivers"]])
    private static let operations = AuditChange.Actor(localUser: "ops")

    /// Knows one caller.
    private struct Door: CallerAuthenticator {
        func caller(of request: CallerRequest) async throws -> Caller? { WithdrawalTests.driver }
    }

    @Test(arguments: TokenStoreKind.available, [true, false])
    func `a token that was decided on before its holder's assignment ended is withdrawn or not handed out`(
        kind: TokenStoreKind, isSignedInTime: Bool
    ) async throws {
        let world = try await TemporaryStore.make(kind)
        let (vehicle, clock) = (try VehicleID(checking: "veh-3"), ManualClock())
        let now: @Sendable () -> Date = {
            Self.start.addingTimeInterval(clock.now.sinceStart / .seconds(1))
        }
        try await world.assign(
            Assignment(holder: Self.driver.id, resource: .vehicle(vehicle), start: Self.start - 60))
        let administration = Administration(store: world.store, waiting: TimeSource(clock: clock, now: now))
        let minter = TokenMinter(signer: try LocalSigner(try Self.key.get()))
        let (arrivals, arrive) = AsyncStream.makeStream(of: Void.self)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let desk = TokenDesk(
            issuer: TokenIssuer(now: now) { claims, _, time in
                arrive.finish()
                for await _ in gate {}
                return try await minter.mint(claims, at: time)
            },
            authenticator: Door(),
            policy: try RulePolicy(
                yaml: RulePolicyTests.yaml, file: "policy.yaml", assignments: StoredAssignments(store: world.store)),
            audit: StoredAuditLog(store: world.store, logger: .silent), now: now, logger: .silent)

        let asking = Task {
            try await desk.issue(.driver(vehicle), for: CallerRequest(headers: [:], peerAddress: "192.0.2.7"))
        }
        for await _ in arrivals {}
        try await administration.end(
            .vehicle(vehicle), of: Self.driver.id, at: now(), by: Self.operations, now: now())
        let withdrawing = Task {
            try await administration.revoke(.resource(.vehicle(vehicle)), by: Self.operations, at: now())
        }
        await clock.waitForSleepers(1)
        if isSignedInTime {
            open.finish()
            let fingerprint = try await asking.value.token.fingerprint
            clock.advance(by: .milliseconds(150))
            #expect(try await withdrawing.value.map(\.value) == [fingerprint])
        } else {
            clock.advance(by: .milliseconds(150))
            #expect(try await withdrawing.value.isEmpty)
            open.finish()
            let refusal = await #expect(throws: TokenDeskRefusal.self) { try await asking.value }
            #expect(refusal?.code == .refused)
        }
    }

    @Test func `what names its tokens by itself is withdrawn without waiting`() async throws {
        let world = try TemporaryStore()
        let administration = Administration(store: world.store, waiting: TimeSource(clock: ManualClock()))
        for target in [RevocationTarget.key("key-1"), .fingerprint("00ff00ff00ff00ff")] {
            #expect(try await administration.revoke(target, by: Self.operations, at: Self.start).count == 1)
        }
    }
}

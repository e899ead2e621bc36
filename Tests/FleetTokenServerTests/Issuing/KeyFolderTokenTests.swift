// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTestSupport
import FleetTokens
import Foundation
import Logging
import Testing

@testable import FleetTokenServer

/// Tokens of a key folder's keys as a server issues them.
@Suite struct KeyFolderTokenTests {
    private static let start = Date(timeIntervalSince1970: 1_767_225_600)

    private let world: KeyFolderTests.World
    private let clock = ManualClock()
    private let list = RevocationList()
    private let keys: SigningKeys
    private let issuer: TokenIssuer

    init() throws {
        let clock = self.clock
        let now: @Sendable () -> Date = { Self.start + Double(clock.now.sinceStart.components.seconds) }
        self.world = try KeyFolderTests.World()
        self.keys = try SigningKeys(
            folder: self.world.folder, provider: try ProviderID(checking: "acme"), revocations: self.list,
            clock: clock, now: now)
        self.issuer = TokenIssuer(signers: nil, keys: self.keys, revocations: self.list, now: now)
    }

    private func withdraw(_ keyIDs: String...) { self.list.replace(fingerprints: [], keyIDs: keyIDs) }

    /// The key that signs a driver's token for one vehicle.
    private func signingKey() async throws -> String? {
        try await self.issuer.issue(.driver(VehicleID(checking: "veh-1"))).keyID
    }

    /// Makes a new key known and waits for a while.
    private func rotate(thenWait seconds: Int) throws -> String {
        let second = try #require(try self.world.folder.rotate(.driver, at: Self.start).entries.last).key.keyID
        try self.keys.refresh(at: Self.start)
        self.clock.advance(by: .seconds(seconds))
        return second
    }

    @Test func `a withdrawn key issues nothing, and a server without another one says so`() async throws {
        let first = self.world.first.keyID
        #expect(try await self.signingKey() == first)
        self.withdraw(first)
        let error = await #expect(throws: SigningError.self) { try await self.signingKey() }
        #expect(error?.message.contains("Every key of the role driver that may sign is withdrawn") == true)

        let store = try TemporaryStore()
        let readiness = Readiness(
            issuer: self.issuer, servedRoles: { [.driver] }, store: store.store, metrics: TokenServerMetrics(),
            clock: ManualClock(), now: { Self.start }, logger: Logger(label: "test"))
        #expect(await !readiness.check())
        #expect(readiness.problems[.canary]?.contains("is withdrawn") == true)
        self.withdraw("another")
        #expect(await readiness.check())
    }

    @Test func `in the place of a withdrawn key the next one signs at once, and never the one before`() async throws {
        let first = self.world.first.keyID
        let second = try self.rotate(thenWait: 1)
        self.withdraw(first)
        #expect(try await self.signingKey() == second)
        self.withdraw()
        #expect(try await self.signingKey() == first)
        self.clock.advance(by: .seconds(600))
        self.withdraw(second)
        await #expect(throws: SigningError.self) { try await self.signingKey() }
        self.withdraw()
        #expect(try await self.signingKey() == second)
    }

    @Test func `a token for everything is signed once for all who ask, by whichever key signs`() async throws {
        let claims = try AuthorizationClaims(vehicle: .any)
        func token() async throws -> IssuedToken {
            self.clock.advance(by: .seconds(1))
            return try await self.issuer.issue(.custom(.driver, claims))
        }
        let first = try await token()
        #expect(try await token().token == first.token)
        self.list.replace(fingerprints: [first.token.fingerprint], keyIDs: [])
        #expect(try await token().token != first.token, "what was withdrawn from one is nobody's")
        self.withdraw()

        let second = try self.rotate(thenWait: 600)
        let next = try await token()
        #expect(next.keyID == second)
        #expect(try await token().token == next.token)
        self.withdraw(second)
        await #expect(throws: SigningError.self) { try await token() }
        self.withdraw()
        #expect(try await token().token == next.token)
    }

    @Test func `metrics tell how often a token for everything was at hand, whatever keys were read anew`() async throws
    {
        let metrics = TokenServerMetrics()
        metrics.show(sharedTokensOf: self.keys, nil)
        let everything = TokenType.custom(.driver, try AuthorizationClaims(vehicle: .any))
        for _ in 0..<3 { _ = try await self.issuer.issue(everything) }
        _ = try self.rotate(thenWait: 1)
        for _ in 0..<2 { _ = try await self.issuer.issue(everything) }
        _ = try await self.signingKey()
        let lines = metrics.text.split(separator: "\n")
        for line in [
            #"fleetpass_shared_token_uses_total{role="driver",result="hit"} 3"#,
            #"fleetpass_shared_token_uses_total{role="driver",result="miss"} 2"#,
            #"fleetpass_shared_token_fetches_total{role="driver",outcome="fetched"} 2"#,
            #"fleetpass_shared_token_fetches_total{role="driver",outcome="failed"} 0"#,
        ] { #expect(lines.contains(Substring(line)), "\(line)") }
    }

    @Test func `who lost a token gets another within the same second`() async throws {
        func token() async throws -> IssuedToken {
            try await self.issuer.issue(.driver(VehicleID(checking: "veh-1")))
        }
        var withdrawn: [IssuedToken] = []
        for _ in 0..<3 {
            let next = try await token()
            #expect(!withdrawn.contains { $0.token == next.token })
            withdrawn.append(next)
            self.list.replace(fingerprints: withdrawn.map(\.token.fingerprint), keyIDs: [])
        }
        #expect(withdrawn.map { withdrawn[0].expiresAt.timeIntervalSince($0.expiresAt) } == [0, 1, 2])
        await #expect(throws: SigningError.self) { try await token() }
        self.clock.advance(by: .seconds(1))
        #expect(try await token().expiresAt == withdrawn[0].expiresAt + 1)
    }
}

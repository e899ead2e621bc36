// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTestSupport
import FleetTokens
import Foundation
import Testing

@Suite struct RoleSignersTests {
    static let now = Date(timeIntervalSince1970: 1_767_225_600)

    /// Counts what it signs, and can be slow or broken.
    final class CountingSigner: PayloadSigner {
        let local: LocalSigner
        let count = Locked(0)
        let gate: @Sendable (Int) async throws -> Void
        var account: String { self.local.account }

        init(_ key: ServiceAccountKey, gate: @escaping @Sendable (Int) async throws -> Void = { _ in }) throws {
            self.local = try LocalSigner(key)
            self.gate = gate
        }

        var calls: Int { self.count.withLock { $0 } }

        func sign(payload: [UInt8]) async throws -> SignedToken {
            let number = self.count.withLock { count in
                count += 1
                return count
            }
            try await self.gate(number)
            return try await self.local.sign(payload: payload)
        }
    }

    struct Broken: Error {}

    private func signers(_ signers: [Role: any PayloadSigner], clock: ManualClock = ManualClock()) -> RoleSigners {
        RoleSigners(signers, clock: clock) {
            Self.now + Double(clock.now.sinceStart.components.seconds)
        }
    }

    @Test func `ten thousand callers of one shared token cost one signature`() async throws {
        let signer = try CountingSigner(TestKeys.server.get()) { _ in for _ in 0..<1000 { await Task.yield() } }
        let signers = self.signers([.server: signer])
        let tokens = try await withThrowingTaskGroup(of: FleetToken.self) { group in
            for _ in 0..<10_000 { group.addTask { try await signers.mint(.server).token } }
            return try await group.reduce(into: Set<FleetToken>()) { $0.insert($1) }
        }
        #expect(tokens.count == 1)
        #expect(signer.calls == 1)
        try await withThrowingDiscardingTaskGroup { group in
            for _ in 0..<10_000 { group.addTask { _ = try await signers.canary(for: .server) } }
        }
        #expect(signer.calls == 2)
    }

    @Test func `a short token that ended by the date is signed anew at once`() async throws {
        let (clock, date) = (ManualClock(), Locked(Self.now))
        let signer = try CountingSigner(TestKeys.server.get())
        let signers = RoleSigners(
            [.server: signer], window: try MintingWindow(backdating: .zero, lifetime: .seconds(600)), clock: clock
        ) { date.withLock { $0 } }
        let first = try await signers.mint(.server)
        clock.advance(by: .seconds(1))
        date.withLock { $0 += 700 }
        let second = try await signers.mint(.server)
        #expect(second.claims.issuedAt == first.claims.issuedAt + 700)
        #expect(signer.calls == 2)
    }

    @Test func `shared tokens are told apart by their claims, not by their type`() async throws {
        let signer = try CountingSigner(TestKeys.server.get())
        let signers = self.signers([.deliveryConsumer: signer])
        let task = try await signers.mint(AuthorizationClaims(task: .any), as: .deliveryConsumer)
        let tracking = try await signers.mint(AuthorizationClaims(tracking: .any), as: .deliveryConsumer)
        #expect(task.claims.authorization?.task == .any)
        #expect(tracking.claims.authorization?.tracking == .any)
        #expect(tracking.claims.authorization?.task == nil)
        #expect(try await signers.mint(AuthorizationClaims(task: .any), as: .deliveryConsumer) == task)
        #expect(signer.calls == 2)
    }

    @Test(arguments: [(3600, 2), (3100, 2), (2900, 1), (30, 1), (-30, 1), (-90, 2), (-1800, 2)] as [(Double, Int)])
    func `a shared token lasts by the date too, where that was set meanwhile`(
        step: Double, signatures: Int
    ) async throws {
        let signer = try CountingSigner(TestKeys.server.get())
        let date = Locked(Self.now)
        let signers = RoleSigners([.server: signer], clock: ManualClock()) { date.withLock { $0 } }
        _ = try await signers.mint(.server)
        date.withLock { $0 += step }
        let tokens = try await withThrowingTaskGroup(of: MintedToken.self) { group in
            for _ in 0..<100 { group.addTask { try await signers.mint(.server) } }
            return try await group.reduce(into: Set<FleetToken>()) { $0.insert($1.token) }
        }
        #expect(tokens.count == 1)
        #expect(signer.calls == signatures)
        let left = try await Double(signers.mint(.server).claims.expiresAt) - date.withLock { $0.timeIntervalSince1970 }
        #expect((300...3360).contains(left))
        _ = try await (signers.canary(for: .server), signers.canary(for: .server))
        #expect(signer.calls == signatures + 1)
    }

    @Test func `claims that name one thing of any kind are no shared token's`() throws {
        let task = try TaskID(checking: "a")
        let named = [
            try AuthorizationClaims(vehicle: .only(VehicleID(checking: "a"))),
            try AuthorizationClaims(trip: .only(TripID(checking: "a"))),
            try AuthorizationClaims(deliveryVehicle: .only(DeliveryVehicleID(checking: "a"))),
            try AuthorizationClaims(task: .only(task)), try AuthorizationClaims(taskList: .only([task])),
            try AuthorizationClaims(tracking: .only(TrackingID(checking: "a"))),
            try AuthorizationClaims(additional: ["note": "a"]),
        ]
        for claims in named { #expect(!claims.namesNoResource, "\(claims.summary)") }
        let wide = [
            try AuthorizationClaims(), try AuthorizationClaims(vehicle: .any, trip: .any),
            try AuthorizationClaims(taskList: .any), try AuthorizationClaims(deliveryVehicle: .any, task: .any),
            try AuthorizationClaims(tracking: .any),
        ]
        for claims in wide { #expect(claims.namesNoResource, "\(claims.summary)") }
    }

    @Test func `a shared token is dropped where it is the one that was refused`() async throws {
        let (signer, clock) = (try CountingSigner(TestKeys.server.get()), ManualClock())
        let signers = self.signers([.server: signer], clock: clock)
        let first = try await signers.mint(.server)
        clock.advance(by: .seconds(60))
        signers.discard(FleetToken("a.b.c"), of: .server)
        #expect(try await signers.mint(.server) == first)
        signers.discard(first.token, of: .server)
        #expect(try await signers.mint(.server) != first)
        #expect(signer.calls == 2)
    }

    @Test func `a token for one resource is signed at each call`() async throws {
        let signer = try CountingSigner(TestKeys.driver.get())
        let signers = self.signers([.driver: signer])
        let type = TokenType.driver(try VehicleID(checking: "veh-3"))
        for _ in 0..<3 { _ = try await signers.mint(type) }
        #expect(signer.calls == 3)
    }

    @Test func `a shared token has five minutes left while the signer works, and serves to its end while not`()
        async throws
    {
        let clock = ManualClock()
        let works = Locked(true)
        let signer = try CountingSigner(TestKeys.server.get()) { _ in if !works.withLock({ $0 }) { throw Broken() } }
        let signers = self.signers([.server: signer], clock: clock)
        for _ in 0..<200 {
            let left =
                try await signers.mint(.server).claims.expiresAt - Int64(Self.now.timeIntervalSince1970)
                - clock.now.sinceStart.components.seconds
            #expect(left > 300)
            for _ in 0..<20 { await Task.yield() }
            clock.advance(by: .seconds(60))
        }
        works.withLock { $0 = false }
        let last = try await signers.mint(.server)
        let end = Double(last.claims.expiresAt) - Self.now.timeIntervalSince1970
        while Double(clock.now.sinceStart.components.seconds) < end {
            #expect(try await signers.mint(.server) == last)
            for _ in 0..<20 { await Task.yield() }
            clock.advance(by: .seconds(60))
        }
        await #expect(throws: Broken.self) { try await signers.mint(.server) }
        works.withLock { $0 = true }
        clock.advance(by: .seconds(10))
        #expect(try await signers.mint(.server) != last)
    }

    @Test func `a slow signer delays nobody else, and a cancelled caller only itself`() async throws {
        let (opened, open) = AsyncStream.makeStream(of: Void.self)
        let slow = try CountingSigner(TestKeys.server.get()) { _ in for await _ in opened { break } }
        let signers = self.signers([.server: slow, .driver: try CountingSigner(TestKeys.driver.get())])
        let first = Task { try await signers.mint(.server) }
        let second = Task { try await signers.mint(.server) }
        while slow.calls == 0 { await Task.yield() }
        _ = try await signers.mint(.driver(VehicleID(checking: "veh-3")))
        _ = try await signers.canary(for: .driver)
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        open.yield()
        #expect(try await second.value.claims.issuer == slow.account)
        #expect(slow.calls == 1)
    }

    @Test func `the check mints a harmless token for each role and names what fails`() async throws {
        let broken = try CountingSigner(TestKeys.driver.get()) { _ in throw Broken() }
        let signers = self.signers([
            .driver: broken, .server: try LocalSigner(TestKeys.server.get()),
            .onDemandAdmin: try LocalSigner(TestKeys.server.get()),
        ])
        let results = await signers.check()
        #expect(results.count == 3)
        #expect(results.filter { $0.value != nil }.map(\.key) == [.driver])
        let canary = try await signers.canary(for: .server).claims.authorization
        #expect(canary?.vehicle == .only(try VehicleID(checking: "fleetpass-canary")))
        #expect(try await signers.canary(for: .onDemandAdmin).claims.authorization == nil)
        let error = await #expect(throws: SigningError.self) { try await signers.mint(.fleetReader) }
        #expect(error?.message.contains("fleet_reader") == true)
    }

    @Test func `every role's canary can be made`() async throws {
        let signer = try LocalSigner(TestKeys.server.get())
        let signers = self.signers(Dictionary(uniqueKeysWithValues: Role.known.map { ($0, signer) }))
        #expect(await signers.check().values.allSatisfy { $0 == nil })
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTestSupport
import FleetTokens
import Foundation
import Testing

@Suite struct SignerLadderTests {
    typealias CountingSigner = RoleSignersTests.CountingSigner
    typealias Broken = RoleSignersTests.Broken

    private let clock = ManualClock()

    private func mint(_ ladder: SignerLadder) async throws -> MintedToken {
        let claims = try TokenType.driver(VehicleID(checking: "veh-3")).claims
        return try await TokenMinter(signer: ladder).mint(claims, at: RoleSignersTests.now)
    }

    @Test func `the first rung signs while it can`() async throws {
        let key = try TestKeys.driver.get()
        let (first, second) = (try CountingSigner(key), try CountingSigner(key))
        let ladder = try SignerLadder([first, second], clock: self.clock)
        for _ in 0..<5 { _ = try await self.mint(ladder) }
        #expect((first.calls, second.calls) == (5, 0))
    }

    @Test func `a failing rung is passed over, looked at from time to time, and taken back`() async throws {
        let key = try TestKeys.driver.get()
        let works = Locked(false)
        let first = try CountingSigner(key) { _ in if !works.withLock({ $0 }) { throw Broken() } }
        let second = try CountingSigner(key)
        let ladder = try SignerLadder([first, second], clock: self.clock)
        for _ in 0..<10 { _ = try await self.mint(ladder) }
        #expect((first.calls, second.calls) == (3, 10))
        #expect(ladder.statistics.map(\.isPassedOver) == [true, false])
        for _ in 0..<300 {
            self.clock.advance(by: .seconds(1))
            _ = try await self.mint(ladder)
        }
        #expect((14...18).contains(first.calls))
        works.withLock { $0 = true }
        self.clock.advance(by: .seconds(30))
        let before = second.calls
        for _ in 0..<5 { _ = try await self.mint(ladder) }
        #expect(second.calls == before)
        #expect(ladder.statistics.map(\.isPassedOver) == [false, false])
    }

    @Test func `a token that is too long is no rung's fault`() async throws {
        let key = try TestKeys.driver.get()
        let (first, second) = (try CountingSigner(key), try CountingSigner(key))
        let ladder = try SignerLadder([first, second], clock: self.clock)
        let claims = try AuthorizationClaims(additional: ["note": String(repeating: "x", count: 10_000)])
        for _ in 0..<5 {
            let error = await #expect(throws: SigningError.self) {
                try await TokenMinter(signer: ladder).mint(claims, at: RoleSignersTests.now)
            }
            #expect(error?.code == .tokenTooLong)
        }
        #expect((first.calls, second.calls) == (5, 0))
        #expect(ladder.statistics.map(\.failures) == [0, 0])
        #expect(ladder.statistics.map(\.isPassedOver) == [false, false])
    }

    @Test func `a rung that signs something else has failed`() async throws {
        struct Liar: PayloadSigner {
            let local: LocalSigner
            var account: String { self.local.account }
            func sign(payload: [UInt8]) async throws -> SignedToken {
                try await self.local.sign(
                    payload: Array(String(decoding: payload, as: UTF8.self).replacing("veh-3", with: "veh-4").utf8))
            }
        }
        let local = try LocalSigner(TestKeys.driver.get())
        let ladder = try SignerLadder([Liar(local: local), local], clock: self.clock)
        let minted = try await self.mint(ladder)
        let payload = try CompactJWS(minted.token.compactSerialization).payload
        #expect(String(decoding: payload, as: UTF8.self).contains("veh-3"))
    }

    @Test func `when every rung rests the error says so, and it ends`() async throws {
        let works = Locked(false)
        let signer = try CountingSigner(TestKeys.driver.get()) { _ in if !works.withLock({ $0 }) { throw Broken() } }
        let ladder = try SignerLadder([signer], clock: self.clock)
        for _ in 0..<3 { await #expect(throws: SigningError.self) { try await self.mint(ladder) } }
        let error = await #expect(throws: SigningError.self) { try await self.mint(ladder) }
        #expect(error?.message.contains("passed over") == true)
        #expect(error?.cause is Broken)
        #expect(signer.calls == 3)
        works.withLock { $0 = true }
        self.clock.advance(by: .seconds(1))
        await #expect(throws: Never.self) { try await self.mint(ladder) }
    }

    @Test(.timeLimit(.minutes(2))) func `a rung that hangs is left for the next one, but not the last`() async throws {
        let key = try TestKeys.driver.get()
        let held = Locked<[CheckedContinuation<Void, Never>]>([])
        // Whatever becomes of who asked, it goes on waiting.
        let hanging = try CountingSigner(key) { _ in
            await withCheckedContinuation { continuation in held.withLock { $0.append(continuation) } }
        }
        let ladder = try SignerLadder([hanging, try CountingSigner(key)], clock: self.clock)
        for number in 1...4 {
            let minted = Task { try await self.mint(ladder) }
            // The fourth finds it passed over.
            if number < 4 {
                await self.clock.waitForSleepers(1)
                self.clock.advance(by: SignerLadder.patience)
            }
            _ = try await minted.value
        }
        #expect(hanging.calls == 3)
        #expect(ladder.statistics.map(\.failures) == [3, 0] && ladder.statistics.map(\.isPassedOver) == [true, false])

        let alone = try SignerLadder([hanging], clock: self.clock)
        let minted = Task { try await self.mint(alone) }
        while hanging.calls < 4 { await Task.yield() }
        self.clock.advance(by: .seconds(60))
        while held.withLock({ $0.count }) < 4 { await Task.yield() }
        for continuation in held.withLock({ $0 }) { continuation.resume() }
        await #expect(throws: Never.self) { try await minted.value }
    }

    @Test func `a signer that was not asked, as its quota is used up, has not failed`() async throws {
        let key = try TestKeys.driver.get()
        let first = try CountingSigner(key) { _ in throw SigningError(code: .heldBack, message: "No calls are left.") }
        let ladder = try SignerLadder([first, try CountingSigner(key)], clock: self.clock)
        for _ in 0..<4 { _ = try await self.mint(ladder) }
        #expect(first.calls == 4)
        #expect(ladder.statistics.map(\.failures) == [0, 0])
        #expect(ladder.statistics.map(\.isPassedOver) == [false, false])
    }

    @Test func `failures between which a rung signed do not add up`() async throws {
        let signer = try CountingSigner(TestKeys.driver.get()) { number in
            if !number.isMultiple(of: 3) { throw Broken() }
        }
        let ladder = try SignerLadder([signer], clock: self.clock)
        for _ in 0..<12 { _ = try? await self.mint(ladder) }
        #expect(signer.calls == 12)
        #expect(ladder.statistics.map(\.isPassedOver) == [false])
    }

    /// What ends the call that looks at a rung that is passed over, and tells nothing of the rung.
    @Test(
        arguments: [CancellationError(), SigningError.Code.heldBack, SigningError.Code.tokenTooLong] as [any Sendable])
    func `a rung is looked at again where the call that looked at it says nothing of it`(end: any Sendable) async throws
    {
        let signer = try CountingSigner(TestKeys.driver.get()) { number in
            switch number {
            case 1...3: throw Broken()
            case 4:
                guard let code = end as? SigningError.Code else { throw CancellationError() }
                throw SigningError(code: code, message: "It says nothing of the rung.")
            default: break
            }
        }
        let ladder = try SignerLadder([signer], clock: self.clock)
        for _ in 0..<3 { _ = try? await self.mint(ladder) }
        self.clock.advance(by: .seconds(1))
        _ = try? await self.mint(ladder)
        #expect(signer.calls == 4)
        await #expect(throws: Never.self) { try await self.mint(ladder) }
        #expect(ladder.statistics.map(\.isPassedOver) == [false])
    }

    @Test func `a cancelled caller is no failure of the rung`() async throws {
        let signer = try CountingSigner(TestKeys.driver.get()) { _ in try await Task.sleep(for: .seconds(3600)) }
        let ladder = try SignerLadder([signer, signer], clock: self.clock)
        for calls in 1...4 {
            let task = Task { try await self.mint(ladder) }
            while signer.calls < calls { await Task.yield() }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(ladder.statistics.map(\.isPassedOver) == [false, false])
    }

    @Test func `calls that fail together pass a rung over for a second, however many they are`() async throws {
        let gate = ManualClock()
        let signer = try CountingSigner(TestKeys.driver.get()) { number in
            guard number <= 8 else { return }
            try await gate.sleep(for: .seconds(1))
            throw Broken()
        }
        let ladder = try SignerLadder([signer], clock: self.clock)
        let calls = (0..<8).map { _ in Task { try await self.mint(ladder) } }
        await gate.waitForSleepers(8)
        gate.advance(by: .seconds(1))
        for call in calls { await #expect(throws: SigningError.self) { try await call.value } }
        #expect(ladder.statistics.map(\.isPassedOver) == [true])
        self.clock.advance(by: .seconds(1))
        await #expect(throws: Never.self) { try await self.mint(ladder) }
        #expect(ladder.statistics.map(\.isPassedOver) == [false])
    }

    @Test func `calls from before a rung was passed over send no second caller to look`() async throws {
        let gate = ManualClock()
        let signer = try CountingSigner(TestKeys.driver.get()) { number in
            switch number {
            case 1, 2:
                try await gate.sleep(for: .seconds(10))
                throw Broken()
            case 3, 4, 5: throw Broken()
            case 6: try await gate.sleep(for: .seconds(20))
            default: break
            }
        }
        let ladder = try SignerLadder([signer], clock: self.clock)
        let early = (0..<2).map { _ in Task { try await self.mint(ladder) } }
        await gate.waitForSleepers(2)
        for _ in 0..<3 { await #expect(throws: SigningError.self) { try await self.mint(ladder) } }
        self.clock.advance(by: .seconds(1))
        let looking = Task { try await self.mint(ladder) }
        await gate.waitForSleepers(3)
        early[0].cancel()
        await #expect(throws: CancellationError.self) { try await early[0].value }
        await #expect(throws: SigningError.self) { try await self.mint(ladder) }
        gate.advance(by: .seconds(10))
        await #expect(throws: SigningError.self) { try await early[1].value }
        await #expect(throws: SigningError.self) { try await self.mint(ladder) }
        #expect(signer.calls == 6)
        gate.advance(by: .seconds(10))
        _ = try await looking.value
        #expect(ladder.statistics.map(\.isPassedOver) == [false])
    }

    @Test func `rungs of several accounts, or none, make no ladder`() throws {
        let driver = try LocalSigner(TestKeys.driver.get())
        let server = try LocalSigner(TestKeys.server.get())
        #expect(throws: SigningError.self) { try SignerLadder([]) }
        #expect(throws: SigningError.self) { try SignerLadder([driver, server]) }
    }
}

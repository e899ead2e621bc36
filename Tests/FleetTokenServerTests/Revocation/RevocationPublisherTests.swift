// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation
import Testing

@testable import FleetTokenServer

@Suite struct RevocationPublisherTests {
    /// A store that answers when it is told to, and the clock.
    private final class World: Sendable {
        let asked = Locked(0)
        let now = Locked(Date(timeIntervalSince1970: 1_767_225_600))
        private let held = AsyncStream.makeStream(of: Void.self)

        func answer() { self.held.continuation.finish() }

        func publisher(taking time: TimeInterval = 0) -> RevocationPublisher {
            RevocationPublisher(key: RevocationKey(), now: { self.now.withLock { $0 } }) { _ in
                self.asked.withLock { $0 += 1 }
                for await _ in self.held.stream {}
                self.now.withLock { $0 += time }
                return []
            }
        }
    }

    @Test func `the store is asked once for all who ask meanwhile`() async throws {
        let world = World()
        let publisher = world.publisher()
        let asking = (1...5).map { _ in Task { try await publisher.document().entityTag } }
        for _ in 1...1000 { await Task.yield() }
        world.answer()
        var tags: Set<String> = []
        for asked in asking { tags.insert(try await asked.value) }
        #expect(tags.count == 1)
        #expect(world.asked.withLock { $0 } == 1)
    }

    @Test func `a store that takes longer than its answers are kept has a rest`() async throws {
        let world = World()
        world.answer()
        let publisher = world.publisher(taking: 2)
        for _ in 1...3 { _ = try await publisher.document() }
        #expect(world.asked.withLock { $0 } == 1)
        world.now.withLock { $0 += 1 }
        _ = try await publisher.document()
        #expect(world.asked.withLock { $0 } == 2)
    }

    @Test func `when the clock is set back the list is read and signed anew`() async throws {
        let world = World()
        world.answer()
        let publisher = world.publisher()
        for (step, issuedAt, asked) in [(0.0, 0.0, 1), (19, 0, 2), (-100, -81, 3), (0.5, -81, 3), (20, -61, 4)] {
            world.now.withLock { $0 += step }
            let list = try await publisher.document().list
            #expect(list.issuedAt.timeIntervalSince1970 - 1_767_225_600 == issuedAt)
            #expect(world.asked.withLock { $0 } == asked)
        }
    }

    @Test func `more than there is room for is told once somebody has asked, until there is room again`() async throws {
        let now = Locked(Date(timeIntervalSince1970: 1_767_225_600))
        let current = Locked(
            (1...47_000).map { number in
                Revocation(
                    kind: .fingerprint, value: String(format: "%016x", number),
                    endsAt: Date(timeIntervalSince1970: 1_767_229_000))
            })
        let key = RevocationKey()
        let publisher = RevocationPublisher(key: key, now: { now.withLock { $0 } }) { _ in current.withLock { $0 } }
        try await publisher.keepUp()
        #expect(publisher.problem == nil && publisher.leftOut == 0)
        let stolen = Revocation(kind: .key, value: "stolen", endsAt: Date(timeIntervalSince1970: 1_767_229_200))
        current.withLock { $0.append(stolen) }
        let document = try await publisher.document()
        let list = try SignedRevocations(
            reading: Array(document.text.utf8), keys: try RevocationKeySet(jwks: key.published),
            at: now.withLock { $0 })
        #expect(list.revocations.first == stolen)
        #expect(list.leftOut > 0 && publisher.leftOut == list.leftOut)
        #expect(publisher.problem?.contains("no room for \(list.leftOut) of 47001 entries") == true)
        current.withLock { $0 = [stolen] }
        now.withLock { $0 += 2 }
        try await publisher.keepUp()
        #expect(publisher.problem == nil && publisher.leftOut == 0)
    }

    @Test func `a store that failed is asked again`() async throws {
        struct Away: Error {}
        let isAway = Locked(true)
        let publisher = RevocationPublisher(key: RevocationKey()) { _ in
            if isAway.withLock({ $0 }) { throw Away() }
            return []
        }
        await #expect(throws: Away.self) { try await publisher.document() }
        isAway.withLock { $0 = false }
        _ = try await publisher.document()
    }
}

// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSQLite
import FleetSigning
import FleetTestSupport
import FleetTokens
import Foundation
import Testing

@testable import FleetEngine

@Suite(.timeLimit(.minutes(5))) struct StoreHealthTests {
    private struct Broken: Error {}

    @Test(
        arguments: [
            (0, nil), (4.9, nil), (-4.9, nil), (6, "the clock is 6 s ahead of the database's"),
            (-90, "the clock is 90 s behind the database's"),
        ] as [(TimeInterval, String?)])
    func `a clock that is not the database's is told`(ahead: TimeInterval, problem: String?) async {
        let store = StatedStore(store: MemoryStore()) { StoreStatus(time: TestClock.start, takesChanges: true) }
        let health = StoreHealth(store, now: { TestClock.start + ahead })
        #expect(await health.problems() == (problem.map { ["clock": $0] } ?? [:]))
    }

    @Test func `a store that cannot be used is told, and makes an engine one that does not serve`() async {
        let readOnly = StatedStore(store: MemoryStore()) { StoreStatus(time: TestClock.start, takesChanges: false) }
        let broken = StatedStore(store: MemoryStore()) { throw Broken() }
        let failing = StatedStore(store: MemoryStore()) { throw SQLiteTrouble.failingDisk("disk I/O error") }
        for (store, problem) in [
            (readOnly, "the store takes no changes"), (broken, "the store cannot be read"),
            (failing, "the store cannot be read: its disk fails"),
        ] {
            let engine = Engine(store: store, verifier: TextVerifier(), now: { TestClock.start })
            #expect(await engine.storeProblems() == ["store": problem])
            #expect(await !engine.isServing())
        }
        #expect(await Engine(store: StatedStore(store: MemoryStore()), verifier: TextVerifier()).isServing())
    }

    @Test(arguments: ["", "-wal", "-shm", "-lock"])
    func `a store whose file is elsewhere is told before anything is written`(ending: String) async throws {
        try await withTemporaryFolder { folder in
            let store = try SQLiteStore(path: folder.appending(path: "engine.sqlite").path)
            let health = StoreHealth(store, now: { TestClock.start }, time: TimeSource(clock: ManualClock()))
            #expect(await health.problems() == [:])
            let (here, there) = (folder.appending(path: "engine.sqlite" + ending), folder.appending(path: "gone"))
            try FileManager.default.moveItem(at: here, to: there)
            let problem =
                "the store's file was removed or replaced, or the -wal, -shm or -lock beside it; put that very file "
                + "back, or restart the engine"
            #expect(await health.problems() == ["store": problem])
            try FileManager.default.moveItem(at: there, to: here)
            #expect(await health.problems() == [:])
            try await store.close()
        }
    }

    @Test func `a look that never ends remembers nobody who has stopped waiting`() async {
        let clock = ManualClock()
        let (answers, answer) = AsyncStream.makeStream(of: Void.self)
        let look = TimedLook(within: .seconds(2), orElse: "late", time: TimeSource(clock: clock)) {
            for await _ in answers {}
            return "found"
        }
        let asking = (1...3).map { _ in Task { await look.finding() } }
        await clock.waitForSleepers(3)
        #expect(look.waiterCount == 3)
        clock.advance(by: .seconds(2))
        for asked in asking { #expect(await asked.value == "late") }
        #expect(look.waiterCount == 0)
        answer.finish()
    }

    @Test func `a store that does not answer in two seconds counts as failed, and is asked once meanwhile`() async {
        let (asked, clock) = (Locked(0), ManualClock())
        let (starts, start) = AsyncStream.makeStream(of: Void.self)
        let (answers, answer) = AsyncStream.makeStream(of: Void.self)
        let store = StatedStore(store: MemoryStore()) {
            asked.withLock { $0 += 1 }
            start.yield()
            for await _ in answers {}
            return nil
        }
        let health = StoreHealth(store, now: { TestClock.start }, time: TimeSource(clock: clock))
        await withTaskGroup(of: [String: String].self) { group in
            for number in 1...3 {
                group.addTask { await health.problems() }
                await clock.waitForSleepers(number)
            }
            var iterator = starts.makeAsyncIterator()
            _ = await iterator.next()
            clock.advance(by: StoreHealth.limit)
            for await problems in group { #expect(problems == ["store": "the store did not answer within 2 s"]) }
        }
        #expect(asked.withLock { $0 } == 1)
        answer.finish()
        #expect(await health.problems() == [:])
    }
}

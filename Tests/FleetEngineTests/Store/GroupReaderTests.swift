// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FleetTokens
import Foundation
import Testing

@testable import FleetEngine

@Suite struct GroupReaderTests {
    /// Hands over a reader whose only thread is busy with one read until it is released.
    private func withHeldReader(
        _ body: (GroupReader<Int>, _ held: Task<Int, any Error>, _ release: () -> Void) async throws -> Void
    ) async throws {
        let reader = GroupReader<Int>(runnerLimit: 1, groupLimit: 1, waitingLimit: 2) { $0(7) }
        let began = AsyncStream.makeStream(of: Void.self)
        let gate = DispatchSemaphore(value: 0)
        let held = Task {
            try await reader.read { snapshot in
                began.continuation.yield()
                gate.wait()
                return snapshot
            }
        }
        for await _ in began.stream { break }
        try await body(reader, held) { gate.signal() }
    }

    @Test func `a read whose task is cancelled is not run, and those beside it are`() async throws {
        try await self.withHeldReader { (reader, held, release) async throws in
            let ran = Locked(false)
            let waiting = Task { try await reader.read { _ in ran.withLock { $0 = true } } }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            release()
            #expect(try await held.value == 7)
            #expect(try await reader.read { $0 + 1 } == 8)
            #expect(!ran.withLock { $0 })
        }
    }

    @Test func `reads beyond the limit are refused, and those whose tasks are cancelled take no place`() async throws {
        try await self.withHeldReader { (reader, held, release) async throws in
            let waiting = (1...2).map { number in Task { try await reader.read { $0 + number } } }
            while reader.waitingCount < 2 { await Task.yield() }
            let error = await #expect(throws: EngineError.self) { try await reader.read { $0 } }
            #expect(error?.reason == "STORE_OVERLOADED")
            waiting[0].cancel()
            await #expect(throws: CancellationError.self) { try await waiting[0].value }
            #expect(reader.waitingCount == 1)
            release()
            #expect(try await held.value == 7)
            #expect(try await waiting[1].value == 9)
        }
    }

    @Test func `a read that runs when its task is cancelled keeps nobody waiting`() async throws {
        try await self.withHeldReader { (reader, held, release) async throws in
            held.cancel()
            await #expect(throws: CancellationError.self) { try await held.value }
            release()
            #expect(try await reader.read { $0 } == 7)
        }
    }

    @Test func `reads that take long leave the threads of tasks alone`() async throws {
        let processors = ProcessInfo.processInfo.activeProcessorCount
        let reader = GroupReader<Int>(runnerLimit: processors, groupLimit: 1, waitingLimit: processors) { $0(7) }
        let running = Locked(0)
        let isReleased = Locked(false)
        let reads = (1...processors).map { _ in
            Task {
                try await reader.read { _ in
                    running.withLock { $0 += 1 }
                    // Ends by itself where no task gets to run.
                    let end = ContinuousClock.now + .seconds(20)
                    while !isReleased.withLock({ $0 }), .now < end {}
                    return isReleased.withLock { $0 }
                }
            }
        }
        while running.withLock({ $0 }) < processors { await Task.yield() }
        isReleased.withLock { $0 = true }
        for read in reads { #expect(try await read.value) }
    }
}

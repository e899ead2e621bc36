// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import FleetEngine

@Suite(.timeLimit(.minutes(1))) struct ScanLimitTests {
    /// Hands over a limit whose only scan is under way until it is released, and that lets one more wait.
    private func withHeldLimit(
        _ body: (ScanLimit, _ held: Task<Int, any Error>, _ release: () -> Void) async throws -> Void
    ) async throws {
        let limit = ScanLimit(1, waitingLimit: 1)
        let (began, begin) = AsyncStream.makeStream(of: Void.self)
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let held = Task {
            try await limit.pass {
                begin.finish()
                for await _ in ends {}
                return 1
            }
        }
        for await _ in began {}
        try await body(limit, held) { end.finish() }
    }

    @Test func `a scan waits for its turn, and what waits beyond the limit is refused`() async throws {
        try await self.withHeldLimit { (limit, held, release) async throws in
            let next = Task { try await limit.pass { 2 } }
            while limit.waitingCount < 1 { await Task.yield() }
            let error = await #expect(throws: EngineError.self) { try await limit.pass {} }
            #expect(error?.reason == "STORE_OVERLOADED")
            release()
            #expect(try await held.value == 1)
            #expect(try await next.value == 2)
            #expect(try await limit.pass { 3 } == 3)
        }
    }

    @Test func `a scan whose task is cancelled waits no longer, is not run and takes no place`() async throws {
        try await self.withHeldLimit { (limit, held, release) async throws in
            let waiting = Task { try await limit.pass { Issue.record("A scan ran that was given up.") } }
            while limit.waitingCount < 1 { await Task.yield() }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            let next = Task { try await limit.pass { 2 } }
            while limit.waitingCount < 1 { await Task.yield() }
            release()
            #expect(try await held.value == 1)
            #expect(try await next.value == 2)
            #expect(try await limit.pass { 3 } == 3)
        }
    }
}

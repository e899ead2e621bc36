// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FleetTokens
import Testing

@testable import FleetEngine

@Suite struct GroupReaderTests {
    @Test func `a read whose task is cancelled is not run, and those beside it are`() async throws {
        let reader = GroupReader<Int>(runnerLimit: 1, groupLimit: 1) { $0(7) }
        let began = AsyncStream.makeStream(of: Void.self)
        let gate = DispatchSemaphore(value: 0)
        let first = Task {
            try await reader.read { snapshot in
                began.continuation.yield()
                gate.wait()
                return snapshot
            }
        }
        var beginnings = began.stream.makeAsyncIterator()
        await beginnings.next()
        let ran = Locked(false)
        let second = Task { try await reader.read { _ in ran.withLock { $0 = true } } }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        gate.signal()
        #expect(try await first.value == 7)
        #expect(try await reader.read { $0 + 1 } == 8)
        #expect(!ran.withLock { $0 })
    }

    @Test func `a read that runs when its task is cancelled keeps nobody waiting`() async throws {
        let reader = GroupReader<Int>(runnerLimit: 1, groupLimit: 1) { $0(7) }
        let began = AsyncStream.makeStream(of: Void.self)
        let gate = DispatchSemaphore(value: 0)
        let read = Task {
            try await reader.read { snapshot in
                began.continuation.yield()
                gate.wait()
                return snapshot
            }
        }
        var beginnings = began.stream.makeAsyncIterator()
        await beginnings.next()
        read.cancel()
        await #expect(throws: CancellationError.self) { try await read.value }
        gate.signal()
        #expect(try await reader.read { $0 } == 7)
    }
}

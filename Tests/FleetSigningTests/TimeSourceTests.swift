// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import Testing

@Suite(.timeLimit(.minutes(1))) struct TimeSourceTests {
    private struct TookTooLong: Error {}

    private let time = TimeSource(clock: ContinuousClock())

    @Test func `the longest duration there is means no limit`() async throws {
        let (time, longest) = (self.time, Duration.seconds(Int64.max))
        let ended = try await time.withLimit(longest, orThrow: TookTooLong()) {
            for _ in 1...100 { await Task.yield() }
            return true
        }
        #expect(ended)
        let awaited = try await time.wait(atMost: longest, orThrow: TookTooLong()) {
            for _ in 1...100 { await Task.yield() }
            return true
        }
        #expect(awaited)
    }
}

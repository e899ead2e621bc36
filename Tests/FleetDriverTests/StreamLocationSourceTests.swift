// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTokens
import Testing

extension StreamLocationSource {
    /// A source whose first run yields the first second's fix, the second run the second's, and so on.
    ///
    /// - Returns: The source, and an element for each run that was stopped.
    static func counting() -> (source: Self, stops: AsyncStream<Void>) {
        let (stops, stop) = AsyncStream.makeStream(of: Void.self)
        let runs = Locked(0)
        let source = Self {
            AsyncStream { fixes in
                fixes.onTermination = { _ in stop.yield() }
                let run = runs.withLock { count in
                    count += 1
                    return count
                }
                if let fix = try? LocationFix.at(run) { fixes.yield(fix) }
            }
        }
        return (source, stops)
    }
}

@Suite(.timeLimit(.minutes(10))) struct StreamLocationSourceTests {
    @Test func `each run has a stream of its own, which ends when the run is cancelled`() async throws {
        let (source, stops) = StreamLocationSource.counting()
        let world = try ReporterWorld()
        let reporter = world.reporter
        await reporter.startTracking()
        for latitude in [0.1, 0.2] {
            let run = Task { try await reporter.run(reporting: source) }
            #expect(try await world.event().location?.latitude == latitude)
            run.cancel()
            await #expect(throws: CancellationError.self) { try await run.value }
            for await _ in stops { break }
        }
    }
}

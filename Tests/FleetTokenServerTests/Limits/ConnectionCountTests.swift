// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetTokens
import Logging
import Testing

@Suite struct ConnectionCountTests {
    private struct Counter: LogHandler {
        let lines: Locked<Int>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) { self.lines.withLock { $0 += 1 } }
    }

    @Test func `a flood at the maximum is told once, and the next one after there was room`() {
        let lines = Locked(0)
        let count = ConnectionCount(
            maximum: 20, port: "http", logger: Logger(label: "test") { _ in Counter(lines: lines) })
        for _ in 1...20 { count.connectionOpened() }
        #expect(!count.isAcceptingNewConnections())
        for _ in 1...1000 {
            count.connectionClosed()
            #expect(count.isAcceptingNewConnections())
            count.connectionOpened()
        }
        #expect(lines.withLock(\.self) == 1)
        for _ in 1...3 { count.connectionClosed() }
        for _ in 1...3 { count.connectionOpened() }
        #expect(lines.withLock(\.self) == 2)
        #expect(count.current == 20)
    }
}

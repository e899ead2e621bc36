// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Logging
import ServiceLifecycle
import Testing

@testable import fleetpass

@Suite struct ServiceGroupTests {
    /// A service that ends at once, with something that is nobody's business.
    private struct Part: Service {
        let address: String

        func run() async throws {}
    }

    private struct Recorder: LogHandler {
        let lines: Locked<[String]>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            self.lines.withLock { $0.append("\(event.message) \(event.metadata ?? [:])") }
        }
    }

    @Test(arguments: [Logger.Level.trace, .debug, .info])
    func `what a server's parts hold is never logged`(level: Logger.Level) async throws {
        let lines = Locked<[String]>([])
        var logger = Logger(label: "test") { _ in Recorder(lines: lines) }
        logger.logLevel = level
        logger.debug("Begins")
        let part = Part(address: "postgresql://fleet:s3cret@db/fleet")
        // A part that ends before it is told to ends the others, as an error.
        await #expect(throws: ServiceGroupError.self) {
            try await ServiceGroup(serving: [part], drain: .seconds(1), logger: logger).run()
        }
        #expect(lines.withLock { $0.filter { $0.contains("s3cret") } }.isEmpty)
        #expect(lines.withLock { !$0.isEmpty } == (level < .info))
    }
}

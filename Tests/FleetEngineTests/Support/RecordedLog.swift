// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Logging

/// What was logged.
final class RecordedLog: Sendable {
    private let entries = Locked<[(level: Logger.Level, message: String, metadata: Logger.Metadata)]>([])

    var logger: Logger {
        var logger = Logger(label: "test") { _ in Handler(log: self) }
        logger.logLevel = .trace
        return logger
    }

    func messages(at level: Logger.Level) -> [String] {
        self.entries.withLock { $0.filter { $0.level == level }.map(\.message) }
    }

    func metadata(of message: String) -> [Logger.Metadata] {
        self.entries.withLock { $0.filter { $0.message == message }.map(\.metadata) }
    }

    private struct Handler: LogHandler {
        let log: RecordedLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            self.log.entries.withLock { $0.append((event.level, "\(event.message)", event.metadata ?? [:])) }
        }
    }
}
